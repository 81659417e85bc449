/** Headers a provider may send to the client: vendor headers, never those that shape the HTTP message itself. */
const VENDOR_HEADER = /^x-[a-z0-9-]+$/;

/** The headers of a provider that are safe to hand on, their names in lower case. */
export function pickVendorHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const isSafe = (name: string, value: unknown): boolean =>
    VENDOR_HEADER.test(name) && typeof value === 'string' && !/[^\t\x20-\x7e]/.test(value);
  return Object.fromEntries(named.filter(([name, value]) => isSafe(name, value)));
}
