import { isIPv6 } from 'node:net';

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

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

const FORM =
  /^redis(?<tls>s?)(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<login>[^/@]*)@)?(?<hosts>[^/?@]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;
const HOST = /^(?:\[(?<ip>[^\]]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>\d{1,5}))?$/;
const PARAMETERS = new Set(['ca', 'sentinel_user', 'sentinel_password']);

/** Reads REDIS_URL; undefined when it is not one of the forms that are documented there. */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const { tls, kind = 'single', login = '', hosts = '', path = '', query = '' } = FORM.exec(text)?.groups ?? {};
  const addresses = hosts.split(',').map((host) => toHost(host, kind === 'sentinel' ? 26_379 : 6379));
  const known = addresses.filter((address) => address !== undefined);
  if (known.length < addresses.length || (kind === 'single' && known.length !== 1)) return undefined;
  const [primary = '', database = '', ...rest] = kind === 'sentinel' ? path.split('/') : ['', ...path.split('/')];
  if (rest.length > 0 || !/^\d{0,5}$/.test(database) || (kind === 'sentinel') !== (primary !== '')) return undefined;
  if (kind === 'cluster' && Number(database) !== 0) return undefined;
  const parameters = new URLSearchParams(query);
  if ([...parameters.keys()].some((name) => !PARAMETERS.has(name))) return undefined;
  const [username, ...password] = login.split(':');
  try {
    return {
      kind: kind as RedisAddress['kind'],
      isEncrypted: tls === 's',
      hosts: known,
      ...optional('username', decodeURIComponent(username ?? '')),
      ...optional('password', decodeURIComponent(password.join(':'))),
      database: Number(database),
      primary: decodeURIComponent(primary),
      ...optional('sentinelUsername', parameters.get('sentinel_user')),
      ...optional('sentinelPassword', parameters.get('sentinel_password')),
      ...optional('authorities', parameters.get('ca')),
    };
  } catch {
    // A percent sign that encodes nothing.
    return undefined;
  }
}

function toHost(text: string, defaultPort: number): RedisHost | undefined {
  const { ip, name, port = String(defaultPort) } = HOST.exec(text)?.groups ?? {};
  const host = ip === undefined || isIPv6(ip) ? (ip ?? name) : undefined;
  const isPort = Number(port) >= 1 && Number(port) <= 65_535;
  return host !== undefined && isPort ? { host, port: Number(port) } : undefined;
}

function optional<Name extends keyof RedisAddress>(name: Name, value: string | null): Partial<RedisAddress> {
  return value === null || value === '' ? {} : { [name]: value };
}
