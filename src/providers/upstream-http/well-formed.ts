/**
 * The escape of half a character in a JSON text: behind an even number of backslashes, since one behind an odd number is text. It begins
 * with what is rare, so that the many other escapes of a long text cost nothing.
 */
const HALF = /\\ud[89a-f][0-9a-f]{2}(?<=(?<!\\)(?:\\\\)*\\u[0-9a-f]{4})/g;

/**
 * A text of JSON.stringify with U+FFFD in place of each half character, such as one that a client left where it cut a text: many servers
 * refuse the whole request as invalid JSON.
 */
export function withWholeCharacters(json: string): string {
  return json.includes('\\ud') ? json.replace(HALF, '\\ufffd') : json;
}
