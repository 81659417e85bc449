import { BlockList, isIP } from 'node:net';

import type { Environment } from './environment.js';
import { hasCredentials } from './keys.js';

/** Whether an address or host name can only mean this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** The address to listen on: HOST, or 0.0.0.0 with API keys and 127.0.0.1 without. */
export function listenAddress(environment: Environment): string {
  const { HOST } = environment;
  if (HOST !== '') return HOST;
  return hasCredentials(environment) ? '0.0.0.0' : '127.0.0.1';
}

/** Whether a URL is https, or on this machine. */
export function isSafeUrl(url: string): boolean {
  const parsed = URL.parse(url);
  return (
    parsed?.protocol === 'https:' ||
    (parsed?.protocol === 'http:' && isLoopback(parsed.hostname.replace(/^\[|\]$/g, '')))
  );
}

/** A list of addresses and networks such as `10.0.0.0/8`, already validated. */
export function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Whether a text is an address or a network. */
export function isNetwork(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
}

/** IPv4 addresses that are not public: the special-purpose registry of IANA, and multicast. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, and the metadata services of clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
] as const;

/** The IPv6 addresses that are assigned for public use. All others are not public, such as `::1`, `fc00::/7` and `::ffff:0:0/96`. */
const GLOBAL_IPV6 = '2000::/3';

/** The parts of those that are not public. */
const SPECIAL_IPV6 = [
  '2001::/23', // protocol assignments, and Teredo, which holds an IPv4 address
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which holds an IPv4 address
  '3fff::/20', // documentation
] as const;

/** NAT64 of RFC 6052: in a network with IPv6 only, the last 32 bits are the IPv4 address of a host. */
const NAT64 = '64:ff9b::';

const NAT64_BITS = 96;

const special = new BlockList();

const global = new BlockList();

add(global, GLOBAL_IPV6);

add(global, `${NAT64}/${NAT64_BITS}`);

for (const range of SPECIAL_IPV6) add(special, range);

for (const range of SPECIAL_IPV4) {
  const [address = '', bits] = range.split('/');
  add(special, range);
  add(special, `${NAT64}${address}/${NAT64_BITS + Number(bits)}`);
}

/** The host of a URL: a name, or an IP address without brackets, in the one spelling that URL parsing leaves. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Whether webhooks for a host may go to an IP address: public ones, and for a loopback host, which WEBHOOK_ALLOW_LOOPBACK has allowed,
 * only loopback ones.
 */
export function isPermittedAddress(address: string, host: string): boolean {
  return isLoopback(host) ? isLoopback(address) : isPublicAddress(address);
}

/** Whether a text is an IP address that is certainly public. Names, and addresses in brackets, are not. */
export function isPublicAddress(address: string): boolean {
  // A zone belongs to a local address.
  const version = address.includes('%') ? 0 : isIP(address);
  if (version === 4) return !special.check(address, 'ipv4');
  return version === 6 && global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

function add(list: BlockList, range: string): void {
  const [address = '', bits] = range.split('/');
  list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
}
