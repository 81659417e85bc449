/** Whatever may hold a parenthesis that is no group; and groups that capture, with their names. */
const TOKEN = /\\[^]|\[(?:[^\]\\]|\\[^])*\]|\((?!\?)|\(\?<(?![=!])([^>]*)>/g;

/** The groups of a pattern that capture, and their numbers by name; parts of a choice may have groups of the same name. */
export function listGroups(source: string): {
  readonly count: number;
  readonly names: ReadonlyMap<string, readonly number[]>;
} {
  const names = new Map<string, number[]>();
  let count = 0;
  for (const [token, name] of source.matchAll(TOKEN)) {
    if (!token.startsWith('(')) continue;
    count += 1;
    if (name === undefined) continue;
    const numbers = names.get(readName(name));
    if (numbers === undefined) names.set(readName(name), [count]);
    else numbers.push(count);
  }
  return { count, names };
}

/** The name of a group, whose characters may be written as escapes. */
export function readName(name: string): string {
  return name.replaceAll(/\\u(?:\{([^}]*)\}|(.{4}))/g, (_, long?: string, short?: string) =>
    String.fromCodePoint(parseInt(long ?? short ?? '', 16)),
  );
}
