/** Ids as this service makes them: a prefix and 32 hex digits, before an upstream's id if there is one. */
const ID = /\b([a-z]+)_[0-9a-f]{32}(?![0-9A-Za-z])/g;

/** Names the ids in a JSON value after the order in which they appear, so that two runs can be compared. */
export function withoutIds(value: unknown): unknown {
  const names = new Map<string, string>();
  const text = JSON.stringify(value).replace(ID, (id, prefix: string) => {
    const name = names.get(id) ?? `${prefix}_${names.size + 1}`;
    names.set(id, name);
    return name;
  });
  return JSON.parse(text);
}
