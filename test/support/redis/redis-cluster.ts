import { setTimeout as sleep } from 'node:timers/promises';

import { Command, Redis as Client } from 'ioredis';

import { type RedisServer, startRedis } from './redis-server.js';

/** A cluster of its own: three primaries, each with so many replicas. It does not outlive this process. */
export interface RedisCluster extends AsyncDisposable {
  readonly url: string;
  /** The servers that began as primaries, in the order of their slots. */
  readonly primaries: readonly RedisServer[];
  /** Ends the first primary at once, and has its replica take its place soon. */
  losePrimary(): Promise<void>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;
/** How many of its servers begin as primaries. */
export const PRIMARIES = 3;
/** How long a node may be silent before the others count it as dead, ms: longer than a busy machine lets one stand still. */
const NODE_TIMEOUT_MS = 3_600_000;
/** The same once a primary is dead. */
const LOST_AFTER_MS = 1000;
/** Between looks whether the cluster is complete, ms. */
const LOOK_MS = 20;

/** The slot of a key. */
export function slotOf(key: string): number {
  return new Command('GET', [key]).getSlot();
}

/** The number of the primary that begins with the slot of a key. */
export function nodeOf(key: string): number {
  return Math.floor(((slotOf(key) + 1) * PRIMARIES - 1) / SLOTS);
}

/** Starts a cluster on the loopback interface. */
export async function startRedisCluster(replicas = 0): Promise<RedisCluster> {
  const count = PRIMARIES * (1 + replicas);
  const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', String(NODE_TIMEOUT_MS)];
  const quick = ['--repl-diskless-sync-delay', '0', '--cluster-replica-validity-factor', '0'];
  const servers = await Promise.all(Array.from({ length: count }, () => startRedis(...options, ...quick)));
  const clients = servers.map(({ port }) => new Client(port));
  try {
    await join(servers, clients);
  } finally {
    for (const client of clients) client.disconnect();
  }
  const losePrimary = async (): Promise<void> => {
    const [lost, ...others] = servers;
    for (const { port } of others) {
      const client = new Client(port);
      await client.config('SET', 'cluster-node-timeout', LOST_AFTER_MS);
      client.disconnect();
    }
    await lost?.crash();
  };
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis+cluster://${hosts}`,
    primaries: servers.slice(0, PRIMARIES),
    losePrimary,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function join(servers: readonly RedisServer[], clients: readonly Client[]): Promise<void> {
  const primaries = clients.slice(0, PRIMARIES);
  const [{ port: firstPort } = { port: 0 }] = servers;
  await Promise.all(clients.map((client, index) => client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
  for (const [index, client] of primaries.entries()) {
    const from = Math.floor((index * SLOTS) / PRIMARIES);
    const to = Math.floor(((index + 1) * SLOTS) / PRIMARIES) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  for (const client of clients.slice(1)) await client.call('CLUSTER', 'MEET', '127.0.0.1', firstPort);
  await until(clients, (info) => info.includes(`cluster_known_nodes:${clients.length}`));
  const ids = await Promise.all(primaries.map((client) => client.call('CLUSTER', 'MYID')));
  const followers = clients.slice(PRIMARIES);
  for (const [index, client] of followers.entries()) {
    await client.call('CLUSTER', 'REPLICATE', String(ids[index % PRIMARIES]));
  }
  await until(clients, (info) => info.includes('cluster_state:ok') && info.includes(`cluster_size:${PRIMARIES}`));
  for (const client of followers) {
    while (!(await client.info('replication')).includes('master_link_status:up')) await sleep(LOOK_MS);
  }
}

async function until(clients: readonly Client[], isReached: (info: string) => boolean): Promise<void> {
  for (const client of clients) {
    while (!isReached(String(await client.call('CLUSTER', 'INFO')))) await sleep(LOOK_MS);
  }
}
