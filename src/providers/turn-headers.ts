/** Forwarded request headers, by name in lower case. */
export type TurnHeaders = Readonly<Record<string, string>>;

/**
 * Picks headers by their names in lower case. `client_metadata` takes precedence, because on a socket the headers belong to the
 * connection.
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
