/** `npm run test:codex`: installs the real Codex CLI and runs the tests with it. Where it cannot be installed, it says why, and fails nothing. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The version that docs/clients.md names. Releases come about daily, and each may do other things on the wire. */
const VERSION = '0.169.0';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Outside of node_modules: it is large, and no dependency. */
const FOLDER = join(ROOT, '.cache', 'codex', VERSION);
const PROGRAM = join(FOLDER, 'node_modules', '.bin', 'codex');

/** Installs Codex unless it is there. Throws an Error that says why it cannot. */
async function install(): Promise<void> {
  if (isWhole()) return;
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  process.stderr.write(`Installing @openai/codex ${VERSION} in ${FOLDER}: about 100 MB to load, 400 MB on disk …\n`);
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const { status, stderr, error } = spawnSync(
    'npm',
    ['install', ...options, '--prefix', FOLDER, `@openai/codex@${VERSION}`],
    {
      encoding: 'utf8',
      cwd: FOLDER,
    },
  );
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm cannot install it:\n${stderr}`);
  if (!isWhole()) throw new Error('what npm installed does not run on this machine');
}

/** Whether Codex runs and has the right version: an installation that broke off has not. */
function isWhole(): boolean {
  const { stdout } = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  return stdout === `codex-cli ${VERSION}\n`;
}

async function runTests(): Promise<number> {
  const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const flags = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    `--import=${new URL('../runner/typescript.ts', import.meta.url).href}`,
  ];
  const config = ['--config', join(ROOT, 'test', 'codex', 'jest.config.js'), '--runInBand'];
  const child = spawn(process.execPath, [...flags, jest, ...config, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, CODEX_PROGRAM: PROGRAM },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Why Codex cannot be installed; null if it is. */
async function whyMissing(): Promise<string | null> {
  try {
    await install();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const reason = await whyMissing();
if (reason === null) process.exitCode = await runTests();
else process.stderr.write(`SKIPPED: no test ran with Codex ${VERSION}, since ${reason}\n`);
