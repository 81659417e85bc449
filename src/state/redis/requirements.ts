import { Cluster } from 'ioredis';

import { describe } from '../driver-errors.js';
import { StateStartError } from '../errors.js';
import type { RedisSettings } from './connection-options.js';
import type { RedisConnection } from './connection.js';
import { isRefusal, reasonOf, UnknownPrimaryError } from './errors.js';

const OLDEST_REDIS = 7;
const OLDEST_VALKEY = 8;

type Info = Readonly<Record<string, string>>;

/** Throws StateStartError with one sentence when Redis cannot be used as it is, and errors of the driver when it is not available. */
export async function requireUsable(connection: RedisConnection, { REDIS_PREFIX }: RedisSettings): Promise<void> {
  const { client } = connection;
  const isCluster = client instanceof Cluster;
  for (const node of connection.primaries) {
    const fault = faultOf(parse(await refusable('INFO', node.info())), isCluster);
    if (fault !== undefined) throw new StateStartError(`REDIS_URL: ${fault}`);
  }
  // The driver goes on with database 0 when there is no such one.
  if (!isCluster) await refusable('SELECT', client.select(client.options.db ?? 0));
  const key = `${REDIS_PREFIX}:check`;
  // What a user may do is not asked, but tried.
  await refusable('EVAL', client.eval(`return redis.call('DEL', KEYS[1])`, 1, key));
  await refusable('PUBLISH', client.publish(key, ''));
}

async function refusable<Reply>(command: string, reply: Promise<Reply>): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    throw isRefusal(error) ? refusalOf(error, `${command}: `) : error;
  }
}

/** What the operator is told when Redis refuses the user or what the user does, or when its certificate is not trusted. */
function refusalOf(error: unknown, what = ''): StateStartError {
  return new StateStartError(`REDIS_URL: Redis cannot be used: ${what}${describe(error)}`, {
    cause: error,
  });
}

/** What the operator is told at a start that can never succeed; undefined for errors that may pass. */
export function startFaultOf(error: unknown): StateStartError | undefined {
  if (error instanceof StateStartError) return error;
  if (error instanceof UnknownPrimaryError)
    return new StateStartError(`REDIS_URL: ${error.message}.`, { cause: error });
  if (/cluster support disabled/.test(reasonOf(error))) {
    return new StateStartError('REDIS_URL: the server is not part of a cluster; use redis://.', { cause: error });
  }
  return isRefusal(error) ? refusalOf(error) : undefined;
}

/** By which policy a server deletes keys when its memory is full, from what INFO says; undefined when it deletes none. */
export function evictionOf(info: string): string | undefined {
  return toEviction(parse(info));
}

function toEviction({ maxmemory_policy: policy }: Info): string | undefined {
  return policy === 'noeviction' ? undefined : policy;
}

function parse(info: string): Info {
  return Object.fromEntries(
    info.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );
}

function faultOf(info: Info, isCluster: boolean): string | undefined {
  const { valkey_version: valkey, redis_version: redis = '0', role } = info;
  const policy = toEviction(info);
  const isOld = valkey === undefined ? parseInt(redis) < OLDEST_REDIS : parseInt(valkey) < OLDEST_VALKEY;
  if (isOld) {
    const found = valkey === undefined ? `Redis ${redis}` : `Valkey ${valkey}`;
    return `the server is ${found}, which is too old: Redis ${OLDEST_REDIS} or Valkey ${OLDEST_VALKEY} is needed.`;
  }
  if (info['cluster_enabled'] === '1' && !isCluster) {
    return 'the server is a node of a cluster. Use redis+cluster:// with some of its nodes.';
  }
  if (role !== undefined && role !== 'master') {
    return 'the server is a replica, which cannot be written to. Name its primary, or the Sentinels with redis+sentinel://.';
  }
  if (policy !== undefined) {
    return `maxmemory-policy is ${policy}, so Redis would delete responses when its memory is full. Set it to noeviction.`;
  }
  return undefined;
}
