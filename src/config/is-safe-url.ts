import { isLoopback } from './listen-address.js';

/** Whether a URL is https, or on this machine. */
export function isSafeUrl(url: string): boolean {
  const parsed = URL.parse(url);
  return (
    parsed?.protocol === 'https:' ||
    (parsed?.protocol === 'http:' && isLoopback(parsed.hostname.replace(/^\[|\]$/g, '')))
  );
}
