import { Redis as Client } from 'ioredis';

import { SystemClock } from '../../src/time/index.js';
import { type RedisServer, startRedis, startRedisWith } from '../support/redis/redis-server.js';

/** A primary with a replica, and three Sentinels that promote it. They do not outlive this process. */
export interface RedisSentinels extends AsyncDisposable {
  readonly url: string;
  /** Ends the primary at once, and has its replica take its place soon. */
  losePrimary(): Promise<void>;
  stop(): Promise<void>;
}

/** How long the primary may be silent before it is replaced, ms: longer than a busy machine lets it stand still. */
const DOWN_AFTER_MS = 3_600_000;
/** The same once it is dead. */
const LOST_AFTER_MS = 500;
/** Between looks whether the Sentinels know each other, ms. */
const LOOK_MS = 20;
const SENTINELS = 3;

/** Starts them on the loopback interface. */
export async function startRedisSentinels(): Promise<RedisSentinels> {
  const quick = ['--repl-diskless-sync-delay', '0'];
  const primary = await startRedis(...quick);
  const replica = await startRedis(...quick, '--replicaof', '127.0.0.1', String(primary.port));
  await untilTold(replica, ['INFO', 'replication'], (info) => info.includes('master_link_status:up'));
  const configuration = [
    `sentinel monitor main 127.0.0.1 ${primary.port} 2`,
    `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`,
    'sentinel failover-timeout main 2000',
  ].join('\n');
  const start = (): Promise<RedisServer> => startRedisWith({ configuration, options: ['--sentinel'] });
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, start));
  for (const sentinel of sentinels) {
    await untilTold(sentinel, ['INFO', 'sentinel'], (info) => info.includes(`slaves=1,sentinels=${SENTINELS}`));
  }
  const losePrimary = async (): Promise<void> => {
    for (const { port } of sentinels) {
      const client = new Client(port);
      await client.call('SENTINEL', 'SET', 'main', 'down-after-milliseconds', LOST_AFTER_MS);
      client.disconnect();
    }
    await primary.crash();
  };
  const stop = async (): Promise<void> => {
    await Promise.all([...sentinels, primary, replica].map((server) => server.stop()));
  };
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return { url: `redis+sentinel://${hosts}/main`, losePrimary, stop, [Symbol.asyncDispose]: stop };
}

async function untilTold(
  { port }: RedisServer,
  [name, ...args]: readonly [name: string, ...args: readonly string[]],
  isReached: (reply: string) => boolean,
): Promise<void> {
  const client = new Client(port);
  while (!isReached(String(await client.call(name, ...args)))) await new SystemClock().sleep(LOOK_MS);
  client.disconnect();
}
