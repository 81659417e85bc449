import { isIPv6 } from 'node:net';

import { HIGHEST_PORT } from './variables.js';

/** Where Redis is, and how it is reached. */
export interface RedisAddress {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly isEncrypted: boolean;
  /** The server, some nodes of the cluster, or the Sentinels. */
  readonly hosts: readonly RedisHost[];
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  /** The name of the primary that the Sentinels watch; empty without Sentinels. */
  readonly primary: string;
  /** The Sentinels have users of their own. */
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  /** File with the certificates of private authorities. */
  readonly authorities?: string;
}

/** A server by its name or address, without brackets, and its port. */
interface RedisHost {
  readonly host: string;
  readonly port: number;
}

const FORM =
  /^redis(?<tls>s?)(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<login>[^/@]*)@)?(?<hosts>[^/?@]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;
const HOST = /^(?:\[(?<ip>[^\]]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>\d{1,5}))?$/;
const PARAMETERS = new Set(['ca', 'sentinel_user', 'sentinel_password']);

/** A value of REDIS_URL that is not one of the forms that are documented there. The message says what is wrong, without quoting it. */
class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError';
}

/** Reads REDIS_URL. Throws RedisUrlError. */
export function parseRedisUrl(text: string): RedisAddress {
  const form = FORM.exec(text)?.groups;
  // A slash of a password ends what is taken for the host.
  if (form === undefined || form['path']?.includes('@')) throw new RedisUrlError(faultOfForm(text));
  const { tls, kind = 'single', login = '', hosts = '', path = '', query = '' } = form;
  const isSentinel = kind === 'sentinel';
  const addresses = hosts.split(',').map((host, index) => toHost(host, index + 1, isSentinel ? 26_379 : 6379));
  if (kind === 'single' && addresses.length > 1) {
    throw new RedisUrlError('redis:// takes one host; several need redis+cluster:// or redis+sentinel://.');
  }
  const [primary = '', database = '', ...rest] = isSentinel ? path.split('/') : ['', ...path.split('/')];
  if (isSentinel && primary === '') {
    throw new RedisUrlError(
      'the name of the primary is missing after the Sentinels: redis+sentinel://host:26379/primary.',
    );
  }
  if (rest.length > 0 || !/^\d{0,5}$/.test(database)) {
    throw new RedisUrlError('the database, the last part of the path, is not a number such as 0.');
  }
  if (kind === 'cluster' && Number(database) !== 0) throw new RedisUrlError('a cluster has no database but 0.');
  const parameters = new URLSearchParams(query);
  if ([...parameters.keys()].some((name) => !PARAMETERS.has(name))) {
    throw new RedisUrlError(`a parameter after ? is not one of ${[...PARAMETERS].join(', ')}.`);
  }
  if (tls !== 's' && parameters.has('ca')) {
    throw new RedisUrlError(`'ca' is for TLS: use rediss:// instead of redis://.`);
  }
  const [username = '', ...password] = login.split(':');
  return {
    kind: kind as RedisAddress['kind'],
    isEncrypted: tls === 's',
    hosts: addresses,
    ...optional('username', decoded(username, 'user')),
    ...optional('password', decoded(password.join(':'), 'password')),
    database: Number(database),
    primary: decoded(primary, 'name of the primary'),
    ...optional('sentinelUsername', parameters.get('sentinel_user')),
    ...optional('sentinelPassword', parameters.get('sentinel_password')),
    ...optional('authorities', parameters.get('ca')),
  };
}

/** What is wrong with a value of REDIS_URL, in one sentence that does not quote it; undefined when nothing is. */
export function faultOfRedisUrl(text: string): string | undefined {
  try {
    parseRedisUrl(text);
    return undefined;
  } catch (error) {
    if (error instanceof RedisUrlError) return error.message;
    throw error;
  }
}

function faultOfForm(text: string): string {
  if (text === '') return 'it is missing: redis://user:password@host:6379/0.';
  if (!/^rediss?(?:\+(?:cluster|sentinel))?:\/\//.test(text)) {
    return 'it does not begin with redis://, redis+cluster:// or redis+sentinel://, or with rediss for TLS.';
  }
  return 'the host is missing, or the user or password has characters that must be percent-encoded, such as %2F for /.';
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError(`the ${part} has a % that encodes nothing; write %25 for a percent sign.`);
  }
}

function toHost(text: string, position: number, defaultPort: number): RedisHost {
  const { ip, name, port = String(defaultPort) } = HOST.exec(text)?.groups ?? {};
  const host = ip === undefined || isIPv6(ip) ? (ip ?? name) : undefined;
  const isPort = Number(port) >= 1 && Number(port) <= HIGHEST_PORT;
  if (host === undefined || !isPort) throw new RedisUrlError(`host ${position} is not host:port or [IPv6]:port.`);
  return { host, port: Number(port) };
}

function optional(name: keyof RedisAddress, value: string | null): Partial<RedisAddress> {
  return value === null || value === '' ? {} : { [name]: value };
}
