import { describe, expect, it } from '@jest/globals';

import { escapeJson, escapeLine, escapeLines, quote } from './escape.js';

const BIDI = '\u202e';

describe('a line', () => {
  it.each([
    ['a newline', 'a\nb', String.raw`a\nb`],
    ['CR', 'a\rb', String.raw`a\rb`],
    ['a tab', 'a\tb', String.raw`a\tb`],
    ['ESC', '\u001b[2Kb', String.raw`\u001b[2Kb`],
    ['NUL', '\0', String.raw`\u0000`],
    ['DEL', '\u007f', String.raw`\u007f`],
    ['NEL and CSI of Latin 1', '\u0085\u009b', String.raw`\u0085\u009b`],
    ['the separators of Unicode', '\u2028\u2029', String.raw`\u2028\u2029`],
    ['bidi overrides', `${BIDI}b\u2066`, String.raw`\u202eb\u2066`],
    ['what is not seen', '\u200b\ufeff\u{e0041}', String.raw`\u200b\ufeff\udb40\udc41`],
    ['nothing else', 'Zürich – 東京 😀 "a\\b"', 'Zürich – 東京 😀 "a\\b"'],
  ])('a line of the log escapes %s', (_, text, line) => {
    expect(escapeLine(text)).toBe(line);
  });
});

describe('several lines', () => {
  it('several lines keep the line breaks of a stack', () => {
    const stack = 'Error: no\n    at one (file.ts:1:2)\n    at two (file.ts:3:4)';
    expect(escapeLines(stack)).toBe(stack);
  });

  it('several lines begin none that could be a line of the log', () => {
    expect(escapeLines(`Error: no\n[Antiphon] 1 - LOG\n\r\n${BIDI}x\n    at one`)).toBe(
      'Error: no\n    [Antiphon] 1 - LOG\n    \\u000d\n    \\u202ex\n    at one',
    );
  });
});

it('the log escapes in JSON what JSON leaves as it is', () => {
  const json = JSON.stringify({ message: `a\n${BIDI}\u{e0041}\u2028` });
  expect(escapeJson(json)).toBe(String.raw`{"message":"a\n\u202e\udb40\udc41\u2028"}`);
  expect(JSON.parse(escapeJson(json))).toEqual(JSON.parse(json));
});

it.each([
  ['a b', '"a b"'],
  ['a" tokens=1', String.raw`"a\" tokens=1"`],
  [`\n${BIDI}`, String.raw`"\n\u202e"`],
  ['x'.repeat(201), `"${'x'.repeat(200)}…"`],
])('the log quotes %j', (value, quoted) => {
  expect(quote(value)).toBe(quoted);
});
