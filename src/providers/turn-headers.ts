/** Forwarded request headers, by name in lower case. */
export type TurnHeaders = Readonly<Record<string, string>>;

/** The names of headers that reach providers, in lower case. */
export interface HeaderNames {
  /** Those that the program forwards. */
  readonly forwarded: readonly string[];
  /** Those that providers read. On a socket, where headers belong to the connection, a turn gives them in `client_metadata`. */
  readonly read: readonly string[];
}

/** Picks headers. `client_metadata` takes precedence for those that providers read. */
export function pickTurnHeaders(
  { forwarded, read }: HeaderNames,
  headers: Readonly<Record<string, unknown>>,
  clientMetadata: unknown,
): TurnHeaders {
  const own = typeof clientMetadata === 'object' && clientMetadata !== null ? clientMetadata : {};
  const found: Record<string, string> = {};
  for (const name of forwarded) {
    const value = headers[name];
    if (typeof value === 'string') found[name] = value;
  }
  for (const name of read) {
    const values: readonly unknown[] = [Object.hasOwn(own, name) ? Reflect.get(own, name) : undefined, headers[name]];
    const value = values.find((candidate) => typeof candidate === 'string');
    if (value !== undefined) found[name] = value;
  }
  return found;
}
