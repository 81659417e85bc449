/**
 * Whether a name matches a glob: `*` is any text, `?` any one character. In time that grows with the two lengths only: names come
 * from clients, and what becomes of a pattern with many stars as a regular expression would hold everybody up.
 */
export function matchesGlob(glob: string, name: string): boolean {
  let at = 0;
  let position = 0;
  /** Where the last star stands, and up to where it reaches. */
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
