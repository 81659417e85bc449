import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A program of others with which tests run, as npm has it. */
export interface Cli {
  /** Its folder in test and in .cache, which is outside of node_modules: it is large, and no dependency. */
  readonly folder: string;
  readonly package: string;
  /** The version that docs/clients.md names. Releases come about daily, and each may do other things on the wire. */
  readonly version: string;
  /** The program, below node_modules. */
  readonly program: string;
  /** What it says of itself with `--version`. */
  readonly says: string;
  /** How much is loaded, and how much of the disk it takes. */
  readonly size: string;
  /** The variable that names the program to the tests. */
  readonly variable: string;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The command of a program: a script for Node, or a file that runs. */
export function commandOf(program: string): readonly [string, ...string[]] {
  return program.endsWith('.cjs') ? [process.execPath, program] : [program];
}

/**
 * Installs a program and runs the tests with it, jest's options being the arguments of this process. Where it cannot be installed, says why
 * and fails nothing.
 */
export async function runWithCli(cli: Cli): Promise<void> {
  const reason = await whyMissing(cli);
  if (reason === null) process.exitCode = await runTests(cli);
  else process.stderr.write(`SKIPPED: no test ran with ${cli.package} ${cli.version}, since ${reason}\n`);
}

/** Why it cannot be installed; null if it is. */
async function whyMissing(cli: Cli): Promise<string | null> {
  try {
    await install(cli);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Installs it unless it is there. Throws an Error that says why it cannot. */
async function install(cli: Cli): Promise<void> {
  if (isWhole(cli)) return;
  const folder = folderOf(cli);
  const name = `${cli.package}@${cli.version}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  process.stderr.write(`Installing ${name} in ${folder}: ${cli.size} …\n`);
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', ['install', ...options, '--prefix', folder, name], {
    encoding: 'utf8',
    cwd: folder,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`npm cannot install it:\n${stderr}`);
  if (!isWhole(cli)) throw new Error('what npm installed does not run on this machine');
}

/** Whether it runs and has the right version: an installation that broke off has not. */
function isWhole(cli: Cli): boolean {
  const [command, ...rest] = commandOf(programOf(cli));
  const { stdout } = spawnSync(command, [...rest, '--version'], { encoding: 'utf8' });
  return stdout === `${cli.says}\n`;
}

async function runTests(cli: Cli): Promise<number> {
  const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const flags = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    `--import=${new URL('../runner/typescript.ts', import.meta.url).href}`,
  ];
  const config = ['--config', join(ROOT, 'test', cli.folder, 'jest.config.js'), '--runInBand'];
  const child = spawn(process.execPath, [...flags, jest, ...config, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, [cli.variable]: programOf(cli) },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function folderOf({ folder, version }: Cli): string {
  return join(ROOT, '.cache', folder, version);
}

function programOf(cli: Cli): string {
  return join(folderOf(cli), 'node_modules', cli.program);
}
