import { isIP } from 'node:net';

import { hostOf, isLoopback, isPublicAddress } from './addresses.js';

/** Shortest key in bytes that Standard Webhooks allows. */
const SHORTEST_KEY = 24;

const SECRET_PREFIX = 'whsec_';

/** What WEBHOOK_URL should be instead, or undefined. The URL is never quoted: it may hold a token. */
export function faultOfWebhookUrl(text: string, allowsLoopback: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'expected a URL such as https://app.example.com/webhooks.';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password.';
  const host = hostOf(url);
  if (isLoopback(host)) {
    if (!allowsLoopback) return 'a loopback address is only allowed with WEBHOOK_ALLOW_LOOPBACK=true.';
    return /^https?:$/.test(url.protocol) ? undefined : 'expected https:// or http://.';
  }
  if (url.protocol !== 'https:') return 'expected https://.';
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'must not be a private or reserved address.';
  return undefined;
}

/** What WEBHOOK_SECRET should be instead, or undefined. It is never quoted. */
export function faultOfWebhookSecret(secret: string): string | undefined {
  const base64 = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  const key = Buffer.from(base64, 'base64');
  // Buffer skips what is not base64.
  if (key.toString('base64') === base64 && key.byteLength >= SHORTEST_KEY) return undefined;
  return `expected ${SECRET_PREFIX} and at least ${SHORTEST_KEY} bytes in base64 for WEBHOOK_URL, such as "${SECRET_PREFIX}$(openssl rand -base64 32)".`;
}
