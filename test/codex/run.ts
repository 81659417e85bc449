/** `npm run test:codex`: the tests with the real Codex CLI. */
import { runWithCli } from '../support/run-with-cli.js';

const VERSION = '0.169.0';

await runWithCli({
  folder: 'codex',
  package: '@openai/codex',
  version: VERSION,
  program: '.bin/codex',
  says: `codex-cli ${VERSION}`,
  size: 'about 100 MB to load, 400 MB on disk',
  variable: 'CODEX_PROGRAM',
});
