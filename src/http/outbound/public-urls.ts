import { isIP } from 'node:net';

import { hostOf, isLoopback, isPublicAddress } from '../../config/index.js';

/**
 * What is wrong with a URL that others bring and that must lead to the public internet, or undefined. Names are checked when they are
 * looked up: `permittedLookup` with `isPublicAddress`.
 */
export function faultOfPublicUrl(url: URL): string | undefined {
  if (url.protocol !== 'https:') return 'must begin with https://';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  return isOnPublicHost(url) ? undefined : 'must not lead to a private or reserved address';
}

/** Whether a URL may lead to the public internet, as far as it says itself: names are checked when they are looked up. */
export function isOnPublicHost(url: URL): boolean {
  const host = hostOf(url);
  return isIP(host) === 0 ? !isLoopback(host.replace(/\.$/, '')) : isPublicAddress(host);
}
