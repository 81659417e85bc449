const MAX_DISTANCE = 2;

/** The number of single-character edits between two words (Levenshtein). */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const replaced = (previous[column - 1] ?? 0) + (isSame ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}

/** The known names within two edits of an unknown one, nearest first (protocol §2). */
export function didYouMean(unknown: string, known: Iterable<string>): readonly string[] {
  return [...known]
    .filter((name) => Math.abs(name.length - unknown.length) <= MAX_DISTANCE)
    .map((name) => ({ name, distance: editDistance(unknown, name) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .sort((left, right) => left.distance - right.distance)
    .map(({ name }) => name);
}
