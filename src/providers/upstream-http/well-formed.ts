/** An escape in a JSON text; one of half a character has its name in it. */
const ESCAPE = /\\(?:(?<half>ud[89a-f][0-9a-f]{2})|.)/gs;

/**
 * A text of JSON.stringify with U+FFFD in place of each half character, such as one that a client left where it cut a text: many servers
 * refuse the whole request as invalid JSON.
 */
export function withWholeCharacters(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(ESCAPE, (escape, half: string | undefined) => (half === undefined ? escape : '\\ufffd'));
}
