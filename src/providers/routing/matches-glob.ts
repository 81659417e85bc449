/**
 * Whether a name matches a glob: `*` is any text, `?` any one character. Not a regular expression, because names come from
 * clients and patterns with many stars would backtrack exponentially.
 */
export function matchesGlob(glob: string, name: string): boolean {
  let at = 0;
  let position = 0;
  /** Index of the last star in the glob, and the end of its match in the name. */
  let star = -1;
  let reach = 0;
  while (position < name.length) {
    if (glob[at] === '*') {
      star = at;
      reach = position;
      at += 1;
    } else if (at < glob.length && (glob[at] === '?' || glob[at] === name[position])) {
      at += 1;
      position += 1;
    } else if (star === -1) return false;
    else {
      at = star + 1;
      reach += 1;
      position = reach;
    }
  }
  return /^\**$/.test(glob.slice(at));
}
