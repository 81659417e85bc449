import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onStablePort } from '../stable-port.js';

/** A Redis server of its own, without data on disk. It does not outlive this process. */
export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server: `redis-server` on PATH, or REDIS_SERVER. */
export async function startRedis(...options: readonly string[]): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-redis-'));
  const program = process.env['REDIS_SERVER'] ?? 'redis-server';
  return onStablePort(async (port) => {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory, ...options];
    const server = spawn(program, settings, { stdio: ['ignore', 'pipe', 'inherit'] });
    await untilReady(server);
    const stop = async (): Promise<void> => {
      server.kill('SIGKILL');
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
      await rm(directory, { recursive: true, force: true });
    };
    return { url: `redis://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop };
  });
}

async function untilReady(server: ChildProcess): Promise<void> {
  let log = '';
  const ready = Promise.withResolvers<undefined>();
  server.stdout?.on('data', (chunk: Buffer) => {
    log += chunk.toString();
    if (log.includes('Ready to accept connections')) ready.resolve(undefined);
  });
  server.once('error', (error) => ready.reject(error));
  server.once('exit', () => ready.reject(new Error(`redis-server has ended:\n${log}`)));
  await ready.promise;
}
