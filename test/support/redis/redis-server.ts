import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findOnPath, guardDirectory, type ServerProcess, startServer } from '../server-process.js';
import { onStablePort } from '../ports.js';

/** A Redis server of its own on the loopback interface. It does not outlive this process. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Ends the server at once and cuts every connection. Without `--appendonly yes` everything is lost. */
  crash(): Promise<void>;
  /** Starts the server again after a crash, on the same port. */
  resume(): Promise<void>;
  /** Stops answering without closing anything, as a machine that hangs, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** What a server is told: options of `redis-server`, after a configuration file that it may write to, if there is to be one. */
export interface RedisOptions {
  readonly options?: readonly string[];
  readonly configuration?: string;
}

/**
 * Nothing is written to disk unless a test asks for it. A script may take its time: after five seconds, which one over 10,000 responses needs on
 * a busy machine, other files that share the server would be answered BUSY.
 */
const SETTINGS = ['--bind', '127.0.0.1', '--save', '', '--pidfile', 'redis.pid', '--lua-time-limit', '0'];

/** What it writes when it accepts connections. */
const READY = /Ready to accept connections|Sentinel ID is/;

/** The server that REDIS_SERVER or PATH names; undefined when this machine has none. */
export function findRedis(): string | undefined {
  const named = process.env['REDIS_SERVER'];
  if (named === undefined) return findOnPath('redis-server');
  if (!existsSync(named)) throw new Error(`REDIS_SERVER: there is no ${named}`);
  return named;
}

/** Starts a server with options such as `'--appendonly', 'yes'`. */
export function startRedis(...options: readonly string[]): Promise<RedisServer> {
  return startRedisWith({ options });
}

/** Starts a server. Throws with its output when it does not become ready. */
export async function startRedisWith({ options = [], configuration }: RedisOptions): Promise<RedisServer> {
  const program = findRedis();
  if (program === undefined) throw new Error('there is no redis-server on PATH, and REDIS_SERVER is not set');
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-redis-'));
  const release = guardDirectory(directory, 'redis.pid');
  const file = configuration === undefined ? [] : [join(directory, 'redis.conf')];
  if (file[0] !== undefined) await writeFile(file[0], configuration ?? '');
  const remove = async (): Promise<void> => {
    await rm(directory, { recursive: true, force: true });
    release();
  };
  try {
    return await onStablePort(async (port) => {
      const settings = [...file, '--port', String(port), ...SETTINGS, ...options];
      const start = (): Promise<ServerProcess> =>
        startServer(program, settings, { cwd: directory, account: undefined }, READY);
      return serverOf(port, await start(), start, remove);
    });
  } catch (error) {
    await remove();
    throw error;
  }
}

function serverOf(
  port: number,
  started: ServerProcess,
  start: () => Promise<ServerProcess>,
  remove: () => Promise<void>,
): RedisServer {
  let running: ServerProcess | undefined = started;
  const crash = async (): Promise<void> => {
    const server = running;
    running = undefined;
    await server?.end('SIGKILL');
  };
  const stop = async (): Promise<void> => {
    await crash();
    await remove();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    crash,
    resume: async () => {
      running ??= await start();
    },
    freeze: () => running?.signal('SIGSTOP'),
    thaw: () => running?.signal('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
