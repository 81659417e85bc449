/**
 * Builds `dist`, the program of a clone, and `lib`, the package: `node scripts/build/main.ts`. With `--if-changed` only when the sources are
 * not those of the last build. Each goes to a folder of its own, which takes the place of the old one when both are complete.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { bundleConsole } from './bundle-console.ts';
import { bundleProgram } from './bundle.ts';
import { bundlePackage } from './bundle-package.ts';
import { compileProgram } from './compile-program.ts';
import { digestSources } from './digest-sources.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** In `dist`: the digest of the sources that it was built from. */
const STAMP = '.sources';
/** How long a build waits for another one, in ms. */
const MAX_WAIT_MS = 600_000;

process.chdir(ROOT);
const { 'if-changed': ifChanged } = parseArgs({ options: { 'if-changed': { type: 'boolean' } } }).values;
// Before the build: what changes meanwhile is not in it.
const digest = digestSources();
if (needsBuild()) {
  const lock = waitForOthers();
  // The other build may have been that of the same sources.
  if (needsBuild()) await build();
  lock.close();
}

function needsBuild(): boolean {
  return ifChanged !== true || readStamp() !== digest;
}

/**
 * Waits until no other build runs in this folder: two at once, such as those of two replicas that start, would write to the same files.
 * The lock is that of a file of SQLite, which ends with the process, however that ends.
 */
function waitForOthers(): DatabaseSync {
  mkdirSync('.cache', { recursive: true });
  const lock = new DatabaseSync('.cache/build.lock');
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch {
    process.stdout.write('Another build runs in this folder: waiting for its end …\n');
    lock.exec(`PRAGMA busy_timeout = ${MAX_WAIT_MS}`);
    lock.exec('BEGIN EXCLUSIVE');
  }
  return lock;
}

async function build(): Promise<void> {
  process.stdout.write('Building dist, which takes some seconds …\n');
  // A compiler whose build was killed may still write there.
  rmSync('dist-next', { recursive: true, force: true, maxRetries: 10 });
  await compile();
  for (const path of globSync('**/migrations/*.sql', { cwd: 'src' })) cpSync(`src/${path}`, `dist-next/${path}`);
  rmSync('lib-next', { recursive: true, force: true });
  await bundlePackage('dist-next', 'lib-next');
  await bundleProgram('dist-next');
  for (const built of ['dist-next', 'lib-next']) await bundleConsole(`${built}/page`);
  await compileProgram('dist-next');
  // npm does so only where it installs the package.
  chmodSync('dist-next/main.js', 0o755);
  writeFileSync(`dist-next/${STAMP}`, digest);
  // First `dist`, with the stamp, goes: interrupted in between, the next start builds again.
  rmSync('dist-old', { recursive: true, force: true });
  if (readStamp() !== undefined) renameSync('dist', 'dist-old');
  rmSync('dist', { recursive: true, force: true });
  rmSync('lib', { recursive: true, force: true });
  renameSync('lib-next', 'lib');
  renameSync('dist-next', 'dist');
  rmSync('dist-old', { recursive: true, force: true });
}

/** Compiles into `dist-next`. Ends the process when the sources have faults: the compiler has said what is wrong. */
async function compile(): Promise<void> {
  const args = ['node_modules/typescript-7/bin/tsc', '--project', 'scripts/build/output.tsconfig.json'];
  const compiler = spawn(process.execPath, args, { stdio: 'inherit' });
  const stop = (): void => {
    // It goes on after SIGTERM.
    compiler.kill('SIGKILL');
    process.kill(process.pid, 'SIGTERM');
  };
  process.once('SIGTERM', stop);
  const [code] = (await once(compiler, 'exit')) as [number | null];
  process.off('SIGTERM', stop);
  if (code !== 0) process.exit(1);
}

/** Undefined when there is no complete build. */
function readStamp(): string | undefined {
  try {
    return readFileSync(`dist/${STAMP}`, 'utf8');
  } catch {
    return undefined;
  }
}
