/** Request headers that are meant for providers; nothing else a client sends in headers reaches one, credentials least. */
const NAMES = ['x-simulate'] as const;

/** Headers of a request for its provider, by their names in lower case. */
export type TurnHeaders = Readonly<Partial<Record<(typeof NAMES)[number], string>>>;

/**
 * Picks the headers for the provider. On a socket headers belong to the connection: there a turn says the same in its
 * `client_metadata`, which wins.
 */
export function pickTurnHeaders(headers: Readonly<Record<string, unknown>>, clientMetadata: unknown): TurnHeaders {
  const own = typeof clientMetadata === 'object' && clientMetadata !== null ? clientMetadata : {};
  const found: Partial<Record<(typeof NAMES)[number], string>> = {};
  for (const name of NAMES) {
    const values: readonly unknown[] = [Object.hasOwn(own, name) ? Reflect.get(own, name) : undefined, headers[name]];
    const value = values.find((candidate) => typeof candidate === 'string');
    if (value !== undefined) found[name] = value;
  }
  return found;
}
