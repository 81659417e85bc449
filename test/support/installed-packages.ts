import { execFile, type ExecFileException } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Longest installation, ms. */
const LIMIT_MS = 240_000;

const run = (program: string, args: readonly string[]) => promisify(execFile)(program, args, { timeout: LIMIT_MS });
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CACHE = resolve(ROOT, process.env['ANTIPHON_CACHE'] ?? '.cache', 'frameworks');

const VITEST = 'vitest@4.1.12';

/** Why what takes minutes, or hundreds of megabytes, is not installed; undefined where that is asked for. */
export const WITHOUT_LARGE =
  process.env['LARGE_SDKS'] === 'true' ? undefined : 'it is large: LARGE_SDKS=true has it installed, once';

/** Where packages are, or why they are not. */
export type Installed = { readonly folder: string } | { readonly reason: string };

/** Vitest, in a folder with `node_modules`: 40 MB, and no dependency of the project. */
export function installVitest(): Promise<Installed> {
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--fetch-retries=0'];
  return install(VITEST, (folder) => run('npm', ['install', ...options, '--prefix', folder, VITEST]));
}

/** Packages from PyPI, as `name==version`, in a folder for PYTHONPATH. */
export function installForPython(...packages: readonly string[]): Promise<Installed> {
  return installFromPyPI(packages);
}

/** The same for large ones: only where they are there already, or LARGE_SDKS asks for them. */
export function installLargeForPython(...packages: readonly string[]): Promise<Installed> {
  return installFromPyPI(packages, WITHOUT_LARGE);
}

async function installFromPyPI(packages: readonly string[], unwanted?: string): Promise<Installed> {
  const version = await run('python3', ['-c', 'import sys; print(sys.implementation.cache_tag)']).catch(failed);
  if ('reason' in version) return version;
  const options = ['--quiet', '--disable-pip-version-check', '--retries=0', '--timeout=20'];
  const name = `${packages.join('-').replaceAll('==', '-')}-${version.stdout.trim()}`;
  if (unwanted !== undefined && !existsSync(join(CACHE, name))) return { reason: unwanted };
  return install(name, (folder) =>
    run('python3', ['-m', 'pip', 'install', ...options, '--target', folder, ...packages]),
  );
}

/** Installs into a folder of the cache, once. An installation that breaks off leaves nothing under its name. */
async function install(name: string, into: (folder: string) => Promise<unknown>): Promise<Installed> {
  const folder = join(CACHE, name);
  if (existsSync(folder)) return { folder };
  await mkdir(CACHE, { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    await into(draft);
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true });
    // Another run may have been faster.
    if (!existsSync(folder)) return failed(error as ExecFileException);
  }
  return { folder };
}

/** The first error that a program wrote says why it failed. */
function failed({ stderr, message }: ExecFileException): { readonly reason: string } {
  return { reason: /^.*error.*$/im.exec(stderr ?? '')?.[0] ?? message };
}
