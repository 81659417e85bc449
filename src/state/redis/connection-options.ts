import { readFileSync } from 'node:fs';

import { Cluster, type ClusterOptions, Redis as Client, type RedisOptions } from 'ioredis';

import { type Environment, parseRedisUrl, type RedisAddress } from '../../config/index.js';
import { StateStartError } from '../errors.js';

/** The variables of Redis. */
export type RedisSettings = Pick<
  Environment,
  'REDIS_URL' | 'REDIS_PREFIX' | 'REDIS_WAIT_REPLICAS' | 'REDIS_COMMAND_TIMEOUT_MS' | 'CONTEXT_MAX_BYTES'
>;

/** What differs between connections; the pauses between attempts to connect are those of `retryStrategy`. */
export type ConnectionOptions = Pick<
  RedisOptions,
  'retryStrategy' | 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout' | 'autoResendUnfulfilledCommands'
>;

/** How long an idle connection is silent before TCP keepalives look whether it is dead, ms. */
const KEEPALIVE_MS = 10_000;
/** Where the nodes of a cluster are is asked this often, ms. It is also asked when one of them is not where it was. */
const REFRESH_MS = 5000;

/** A connection that is not open yet: `connect` opens it. */
export function createClient(settings: RedisSettings, options: ConnectionOptions): Client | Cluster {
  const address = addressOf(settings);
  if (address.kind !== 'cluster') return new Client({ ...single(address, settings), ...options });
  const { retryStrategy, enableOfflineQueue, ...rest } = options;
  const cluster: ClusterOptions = {
    lazyConnect: true,
    slotsRefreshTimeout: settings.REDIS_COMMAND_TIMEOUT_MS,
    slotsRefreshInterval: REFRESH_MS,
    // Whoever sends looks for another node.
    clusterNodeRetryStrategy: null,
    redisOptions: { ...shared(address, settings), ...rest },
    ...(retryStrategy === undefined ? {} : { clusterRetryStrategy: retryStrategy }),
    ...(enableOfflineQueue === undefined ? {} : { enableOfflineQueue }),
    // Names are looked up by the connections: certificates are issued for them.
    dnsLookup: (host, found) => found(null, host),
  };
  return new Cluster([...address.hosts], cluster);
}

/** A connection for publications that is not open yet and does not reopen itself. `attempt` chooses a node of a cluster. */
export function connectSubscriber(settings: RedisSettings, attempt: number): Client {
  const address = addressOf(settings);
  const options: RedisOptions = { retryStrategy: () => null, maxRetriesPerRequest: 0 };
  if (address.kind !== 'cluster') return new Client({ ...single(address, settings), ...options });
  const host = address.hosts[attempt % address.hosts.length];
  return new Client({ ...shared(address, settings), ...host, lazyConnect: true, ...options });
}

function single(address: RedisAddress, settings: RedisSettings): RedisOptions {
  const common = { ...shared(address, settings), db: address.database, lazyConnect: true };
  if (address.kind === 'single') return { ...common, ...address.hosts[0] };
  return {
    ...common,
    sentinels: [...address.hosts],
    name: address.primary,
    sentinelMaxConnections: address.hosts.length,
    // Failing over is Redis's own business; who asks the Sentinels again is the connection.
    sentinelRetryStrategy: () => null,
    ...(address.sentinelUsername === undefined ? {} : { sentinelUsername: address.sentinelUsername }),
    ...(address.sentinelPassword === undefined ? {} : { sentinelPassword: address.sentinelPassword }),
    ...(address.isEncrypted ? { enableTLSForSentinelMode: true, sentinelTLS: tlsOf(address) } : {}),
  };
}

function shared(address: RedisAddress, { REDIS_COMMAND_TIMEOUT_MS }: RedisSettings): RedisOptions {
  return {
    connectionName: 'antiphon',
    connectTimeout: REDIS_COMMAND_TIMEOUT_MS,
    keepAlive: KEEPALIVE_MS,
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(address.password === undefined ? {} : { password: address.password }),
    ...(address.isEncrypted ? { tls: tlsOf(address) } : {}),
  };
}

function tlsOf({ authorities }: RedisAddress): { readonly ca?: Buffer } {
  if (authorities === undefined) return {};
  try {
    return { ca: readFileSync(authorities) };
  } catch (error) {
    throw new StateStartError(`REDIS_URL: the file of 'ca' cannot be read.`, { cause: error });
  }
}

function addressOf({ REDIS_URL }: RedisSettings): RedisAddress {
  const address = parseRedisUrl(REDIS_URL);
  if (address === undefined) throw new StateStartError('REDIS_URL: not a URL of Redis.');
  return address;
}
