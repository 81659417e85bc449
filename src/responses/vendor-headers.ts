/** Headers that a provider may send to the client: vendor headers only, never those of the HTTP message itself. */
const VENDOR_HEADER = /^x-[a-z0-9-]+$/;

/** The vendor headers of a provider with safe values, names in lower case. */
export function pickVendorHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const isSafe = (name: string, value: unknown): boolean =>
    VENDOR_HEADER.test(name) && typeof value === 'string' && !/[^\t\x20-\x7e]/.test(value);
  return Object.fromEntries(named.filter(([name, value]) => isSafe(name, value)));
}
