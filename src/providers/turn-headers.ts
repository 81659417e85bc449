/** Headers of a request for its provider, by their names in lower case. */
export type TurnHeaders = Readonly<Record<string, string>>;

/**
 * Picks the headers of these names, which are in lower case. On a socket headers belong to the connection: there a turn says
 * the same in its `client_metadata`, which wins.
 */
export function pickTurnHeaders(
  names: readonly string[],
  headers: Readonly<Record<string, unknown>>,
  clientMetadata: unknown,
): TurnHeaders {
  const own = typeof clientMetadata === 'object' && clientMetadata !== null ? clientMetadata : {};
  const found: Record<string, string> = {};
  for (const name of names) {
    const values: readonly unknown[] = [Object.hasOwn(own, name) ? Reflect.get(own, name) : undefined, headers[name]];
    const value = values.find((candidate) => typeof candidate === 'string');
    if (value !== undefined) found[name] = value;
  }
  return found;
}
