import { DeadEnd } from './schema-parts.js';

/** Whether a text has what a pattern of a schema asks for; a dead end where the pattern is none. */
export function matchesPattern(pattern: string, text: string): boolean {
  return compile(pattern).test(text);
}

/** How many characters a pattern may ask for: a rough count of what json-schema-faker would make of it. */
export function measurePattern(pattern: string): number {
  let nesting = 0;
  let deepest = 0;
  for (const character of pattern) {
    if (character === '(') deepest = Math.max(deepest, ++nesting);
    if (character === ')') nesting--;
  }
  const repeats = [...pattern.matchAll(/\{(\d+)/g)].reduce(
    (product, [, count]) => product * Math.max(1, Number(count)),
    1,
  );
  return 3 ** deepest * repeats;
}

/** The literal text that an anchored pattern begins with, as in `^x-`. */
export function patternPrefix(pattern: string): string {
  return /^\^([\w-]+)/.exec(pattern)?.[1] ?? '';
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    // Patterns from other languages have escapes that only the older mode forgives.
    try {
      return new RegExp(pattern);
    } catch {
      throw new DeadEnd(`The pattern '${pattern}' is not a regular expression.`);
    }
  }
}
