import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { Cluster, type ClusterOptions, Redis as Client, type RedisOptions } from 'ioredis';

import { type Environment, parseRedisUrl, type RedisAddress } from '../../config/index.js';
import { describe } from '../driver-errors.js';
import { StateStartError } from '../errors.js';

/** The variables of Redis. */
export type RedisSettings = Pick<
  Environment,
  | 'REDIS_URL'
  | 'REDIS_PREFIX'
  | 'REDIS_WAIT_REPLICAS'
  | 'REDIS_COMMAND_TIMEOUT_MS'
  | 'CONTEXT_MAX_BYTES'
  | 'USAGE_RETENTION_DAYS'
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
  if (address.kind !== 'cluster') return withPauses(single(address, settings), options);
  const { retryStrategy, enableOfflineQueue, ...rest } = options;
  const cluster: ClusterOptions = {
    lazyConnect: true,
    slotsRefreshTimeout: settings.REDIS_COMMAND_TIMEOUT_MS,
    slotsRefreshInterval: REFRESH_MS,
    // A node that is lost is not tried again: each command looks for the one to ask.
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
  if (address.kind !== 'cluster') return withPauses(single(address, settings), options);
  const host = address.hosts[attempt % address.hosts.length];
  return new Client({ ...shared(address, settings), ...host, lazyConnect: true, ...options });
}

function withPauses(common: RedisOptions, options: ConnectionOptions): Client {
  const { retryStrategy } = options;
  // Without Sentinels that answer, a connection would end for good, or wait for ever.
  const sentinelRetryStrategy = (times: number): number | null => retryStrategy?.(times) ?? null;
  return new Client({ ...common, ...options, ...(retryStrategy ? { sentinelRetryStrategy } : {}) });
}

function single(address: RedisAddress, settings: RedisSettings): RedisOptions {
  const common = { ...shared(address, settings), db: address.database, lazyConnect: true };
  if (address.kind === 'single') return { ...common, ...address.hosts[0] };
  return {
    ...common,
    sentinels: [...address.hosts],
    name: address.primary,
    sentinelMaxConnections: address.hosts.length,
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
  let ca: Buffer;
  try {
    ca = readFileSync(authorities);
  } catch (error) {
    throw new StateStartError(`REDIS_URL: the file of 'ca' cannot be read.`, { cause: error });
  }
  // Node ignores one that it does not understand.
  if (!isPem(ca)) throw new StateStartError(`REDIS_URL: the file of 'ca' has no certificate in PEM format.`);
  return { ca };
}

function isPem(file: Buffer): boolean {
  if (!file.includes('-----BEGIN CERTIFICATE-----')) return false;
  try {
    new X509Certificate(file);
    return true;
  } catch {
    return false;
  }
}

function addressOf({ REDIS_URL }: RedisSettings): RedisAddress {
  try {
    return parseRedisUrl(REDIS_URL);
  } catch (error) {
    throw new StateStartError(`REDIS_URL: ${describe(error)}`, { cause: error });
  }
}
