const MAX_DISTANCE = 2;

/** A name may have one wrong character in four: two edits turn most words of four letters into one another. */
const CHARACTERS_PER_EDIT = 4;

/**
 * The number of single-character edits between two words; two neighbours that changed places are one edit. Beyond MAX_DISTANCE it is only
 * known to be more: at a start, each variable of the process is compared with two hundred.
 */
function editDistance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > MAX_DISTANCE || countForeign(from, to) > MAX_DISTANCE) return Infinity;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const replaced = (previous[column - 1] ?? 0) + (isSame ? 0 : 1);
      let edits = Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) edits = Math.min(edits, (beforePrevious[column - 2] ?? 0) + 1);
      current.push(edits);
      least = Math.min(least, edits);
    }
    if (least > MAX_DISTANCE) return Infinity;
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}

/** The characters of a word that another one has nowhere, each of which takes an edit; beyond MAX_DISTANCE they are not counted. */
function countForeign(from: string, to: string): number {
  let count = 0;
  for (let at = 0; at < from.length && count <= MAX_DISTANCE; at++) if (!to.includes(from.charAt(at))) count += 1;
  return count;
}

/** The known names within two edits of an unknown one, nearest first (protocol §2). */
export function didYouMean(unknown: string, known: Iterable<string>): readonly string[] {
  return [...known]
    .map((name) => ({ name, distance: editDistance(unknown, name) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .sort((left, right) => left.distance - right.distance)
    .map(({ name }) => name);
}

/**
 * Whether an unknown name is so near a known one that it must be a slip: at most two edits, and at most one in four
 * characters. `temprature` is, `mode` for `model` too; `scope` for `store` is not, nor anything of three letters.
 */
export function isNearMiss(unknown: string, known: Iterable<string>): boolean {
  const edits = Math.min(MAX_DISTANCE, Math.floor(unknown.length / CHARACTERS_PER_EDIT));
  if (edits === 0) return false;
  for (const name of known) {
    if (editDistance(unknown, name) <= edits) return true;
  }
  return false;
}
