import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';

/** The address of a client: that of its connection or, behind trusted proxies, the last one that is none of theirs. */
export function clientAddress(request: IncomingMessage, proxies: BlockList): string {
  const nearest = peerAddress(request);
  if (!isTrusted(nearest, proxies)) return nearest;
  const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
  let address = nearest;
  for (const hop of forwarded.reverse()) {
    const before = plain(hop.trim());
    if (isIP(before) === 0) break;
    address = before;
    if (!isTrusted(before, proxies)) break;
  }
  return address;
}

/** Where a connection comes from. */
export function peerAddress({ socket }: IncomingMessage): string {
  return plain(socket.remoteAddress ?? '');
}

/** Whether an address is one of the proxies. */
export function isTrusted(address: string, proxies: BlockList): boolean {
  const family = isIP(address);
  return family !== 0 && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** An IPv4 address in the form of IPv6 as IPv4. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
