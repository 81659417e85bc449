/**
 * Characters that can forge or hide parts of a log line: controls such as newline, CR and ESC, the line separators of
 * Unicode, and invisible ones such as bidi overrides.
 */
const TREACHEROUS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** TREACHEROUS characters without line breaks and tabs. */
const TREACHEROUS_IN_LINES = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
]);

/** A text on one line: control and invisible characters are written as escapes, `\n` or `\u001b`. */
export function escapeLine(text: string): string {
  return text.replace(TREACHEROUS, (character) => SHORT.get(character) ?? toUnicodeEscapes(character));
}

/**
 * A text of several lines, such as a stack. All lines after the first are indented, so that none of them can pass for a
 * line of the log; other control characters are escaped.
 */
export function escapeLines(text: string): string {
  return text.replace(TREACHEROUS_IN_LINES, toUnicodeEscapes).replaceAll(/\n(?=[^\s])/g, '\n    ');
}

/** A JSON text with the characters escaped that JSON leaves as they are, such as bidi overrides. */
export function escapeJson(json: string): string {
  return json.replace(TREACHEROUS, toUnicodeEscapes);
}

/** Longest part of a value of a client in a log line, in UTF-16 units. */
const LONGEST_QUOTE = 200;

/** A value of a client for a log line: in double quotes, escaped, and cut after 200 characters. */
export function quote(value: string): string {
  const cut = value.length > LONGEST_QUOTE ? `${value.slice(0, LONGEST_QUOTE)}…` : value;
  return escapeJson(JSON.stringify(cut));
}

/** One escape per UTF-16 unit, as in JSON. */
function toUnicodeEscapes(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => String.raw`\u` + character.charCodeAt(index).toString(16).padStart(4, '0'),
  ).join('');
}
