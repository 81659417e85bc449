/** `npm run test:claude-code`: the tests with the real Claude Code. */
import { runWithCli } from '../support/run-with-cli.js';

const VERSION = '2.1.332';

await runWithCli({
  folder: 'claude-code',
  package: '@anthropic-ai/claude-code',
  version: VERSION,
  program: '@anthropic-ai/claude-code/cli-wrapper.cjs',
  says: `${VERSION} (Claude Code)`,
  size: 'about 100 MB to load, 400 MB on disk',
  variable: 'CLAUDE_CODE_PROGRAM',
});
