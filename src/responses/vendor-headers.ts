/** Headers that a provider may send to the client: vendor headers only, never those of the HTTP message itself. */
const VENDOR_HEADER = /^x-[a-z0-9-]+$/;

/** What a value may not have. */
const UNSAFE = /[^\t\x20-\x7e]/;

/** Characters of all of them together: many clients take 16 KiB of headers, and fail on more. */
const MOST_CHARACTERS = 8192;

/** Names that were seen, in lower case; undefined for those that are no vendor headers. Bounded: providers may send any. */
const NAMES = new Map<string, string | undefined>();
const MOST_NAMES = 1000;

/** The vendor headers of a provider with safe values, names in lower case, as far as they fit. */
export function pickVendorHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const picked: Record<string, string> = {};
  let characters = 0;
  for (const [given, value] of Object.entries(headers)) {
    const name = vendorName(given);
    if (name === undefined || typeof value !== 'string' || UNSAFE.test(value)) continue;
    if (characters + name.length + value.length > MOST_CHARACTERS) continue;
    characters += name.length + value.length;
    picked[name] = value;
  }
  return picked;
}

function vendorName(given: string): string | undefined {
  if (NAMES.has(given)) return NAMES.get(given);
  const name = given.toLowerCase();
  const known = VENDOR_HEADER.test(name) ? name : undefined;
  if (NAMES.size < MOST_NAMES) NAMES.set(given, known);
  return known;
}
