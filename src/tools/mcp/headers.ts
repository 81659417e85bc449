import { validateHeaderName, validateHeaderValue } from 'node:http';

/** Headers that the client of the protocol, or HTTP, sets itself. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What is wrong with a header for a server, in words that quote no value; or undefined. */
export function faultOfHeader(name: string, value: unknown): string | undefined {
  try {
    validateHeaderName(name);
  } catch {
    return 'has a name that is not valid';
  }
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith('mcp-')) return `must not have '${lower}'`;
  if (typeof value !== 'string') return `must have a string as '${lower}'`;
  try {
    validateHeaderValue(name, value);
    return undefined;
  } catch {
    return `has a value of '${lower}' that is not valid`;
  }
}

/** Headers with their names in lower case, and a token, if there is one, that is sent as `Bearer`. */
export function toHeaders(
  headers: Readonly<Record<string, string>>,
  token: string | null | undefined,
): Readonly<Record<string, string>> {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return token == null ? named : { ...named, authorization: `Bearer ${token}` };
}
