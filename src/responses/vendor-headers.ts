/** Headers that a provider may send to the client: vendor headers only, never those of the HTTP message itself. */
const VENDOR_HEADER = /^x-[a-z0-9-]+$/;

/** Characters of all of them together: many clients take 16 KiB of headers, and fail on more. */
const MOST_CHARACTERS = 8192;

/** The vendor headers of a provider with safe values, names in lower case, as far as they fit. */
export function pickVendorHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const picked: Record<string, string> = {};
  let characters = 0;
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (!VENDOR_HEADER.test(name) || typeof value !== 'string' || /[^\t\x20-\x7e]/.test(value)) continue;
    if (characters + name.length + value.length > MOST_CHARACTERS) continue;
    characters += name.length + value.length;
    picked[name] = value;
  }
  return picked;
}
