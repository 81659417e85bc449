const LETTERS = toCodes('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789');
const SIGNS = toCodes(' _-.,:/@+=#!?%&*()[]{}<>|;~^$"\'`\\\t\n\r');
const FOREIGN = toCodes('éßñçŁΩλяאعअกあア中한€£°½–…→✓🙂\u00a0\u0300');

/** A character in the source of a class: as it is, or an escape. */
const WRITTEN = /\\u\{([\da-fA-F]{1,5})\}|\\u([\da-fA-F]{4})|\\x([\da-fA-F]{2})|[^]/gu;
const MOST_WRITTEN = 64;
/** Characters after a written one, which may begin a range. */
const FOLLOWING = 16;

/** Some characters of a set: letters and digits, which mean nothing to any program, or else signs, or else others. */
export function findSamples(source: string, has: (code: number) => boolean): readonly number[] {
  for (const list of [() => LETTERS, () => SIGNS, () => listWritten(source), () => FOREIGN]) {
    const found = list().filter(has);
    if (found.length > 0) return found;
  }
  return [];
}

function listWritten(source: string): readonly number[] {
  return [...source.slice(0, 8 * MOST_WRITTEN).matchAll(WRITTEN)]
    .slice(0, MOST_WRITTEN)
    .map(([written, ...codes]) => {
      const code = codes.join('');
      return code === '' ? (written.codePointAt(0) ?? 0) : parseInt(code, 16);
    })
    .flatMap((code) => Array.from({ length: FOLLOWING }, (_, after) => code + after));
}

function toCodes(characters: string): readonly number[] {
  return Array.from(characters, (character) => character.codePointAt(0) ?? 0);
}
