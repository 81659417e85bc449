import { BoundedCache } from '../bounded-cache.js';
import { Pattern } from '../pattern/pattern.js';

/** Characters of all remembered patterns: room for those of the largest schema, with both flags. */
const MOST_CHARACTERS = 128 * 1024;

const patterns = new BoundedCache<Pattern>(MOST_CHARACTERS);

/** Compiles a pattern with the `u` flag, as JSON Schema requires, or else without it for older clients. */
export function compilePattern(source: string): Pattern {
  try {
    return compileFlagged(source, 'u');
  } catch {
    return compileFlagged(source, '');
  }
}

/** Compiles a pattern with these flags. Throws SyntaxError, and RangeError if it nests too deeply. */
export function compileFlagged(source: string, flags: string): Pattern {
  const key = `${flags}/${source}`;
  const known = patterns.get(key);
  if (known !== undefined) return known;
  const pattern = new Pattern(source, flags);
  patterns.add(key, pattern, 0);
  return pattern;
}
