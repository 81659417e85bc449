import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { anyCharacter } from '../../../../test/support/any-character.js';
import { StringMemberReader } from './string-member-reader.js';

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
  '\b': '\\b',
  '\f': '\\f',
};

/** The ways to write a character in JSON, by number. */
function escape(character: string, way: number): string {
  const units = [...Array(character.length).keys()].map((index) => character.charCodeAt(index));
  const hexadecimal = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  const mustBeEscaped = /["\\\u0000-\u001f]/.test(character);
  const ways = [
    ...(mustBeEscaped ? [] : [character]),
    ...(SHORT[character] === undefined ? [] : [SHORT[character]]),
    hexadecimal,
    hexadecimal.toUpperCase().replaceAll('U', 'u'),
  ];
  return ways[way % ways.length] ?? hexadecimal;
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: 'binary-ascii' }),
);
const blank = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** Code points. */
function charactersOf(said: string): readonly string[] {
  return Array.from(said);
}

/** A text, and JSON that says it, written in any legal way. */
const written = fc
  .record({
    text,
    ways: fc.array(fc.nat({ max: 11 }), { minLength: 1 }),
    blanks: fc.array(blank, { minLength: 5, maxLength: 5 }),
  })
  .map(({ text: said, ways, blanks: [one = '', two = '', three = '', four = '', five = ''] }) => {
    const escaped = charactersOf(said)
      .map((character, index) => escape(character, ways[index % ways.length] ?? 0))
      .join('');
    return { text: said, json: `${one}{${two}"input"${three}:${four}"${escaped}"${five}}` };
  });

/** Cuts anywhere, also in the middle of a character. */
function cut(json: string, places: readonly number[]): readonly string[] {
  const borders = [
    0,
    ...places.map((place) => place % (json.length + 1)).toSorted((one, other) => one - other),
    json.length,
  ];
  return borders.slice(1).map((border, index) => json.slice(borders[index], border));
}

function read(pieces: readonly string[]): readonly string[] {
  const reader = new StringMemberReader('input');
  return [...pieces.map((piece) => reader.feed(piece)), reader.end()];
}

const places = fc.array(fc.nat({ max: 10_000 }), { maxLength: 40 });

describe(StringMemberReader.name, () => {
  it('a reader of a string member decodes any text, with any valid escapes and in any pieces', () => {
    fc.assert(
      fc.property(written, places, ({ text: said, json }, cuts) => {
        expect(JSON.parse(json)).toEqual({ input: said });
        expect(read(cut(json, cuts)).join('')).toBe(said);
      }),
      { numRuns: 200 },
    );
  });

  it('a reader of a string member returns every character as soon as it arrives', () => {
    fc.assert(
      fc.property(written, ({ text: said, json }) => {
        const reader = new StringMemberReader('input');
        // Nothing is left for the end.
        expect(
          charactersOf(json)
            .map((character) => reader.feed(character))
            .join(''),
        ).toBe(said);
      }),
    );
  });

  it('a reader of a string member never splits a surrogate pair', () => {
    fc.assert(
      fc.property(written, places, ({ json }, cuts) => {
        for (const piece of read(cut(json, cuts))) expect(piece.isWellFormed()).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('a reader of a string member returns the beginning of a text that is cut off', () => {
    fc.assert(
      fc.property(written, places, fc.nat({ max: 10_000 }), ({ text: said, json }, cuts, end) => {
        const head = json.indexOf('"', json.indexOf(':')) + 1;
        const length = head + (end % (json.length - head));
        const given = read(cut(json.slice(0, length), cuts)).join('');
        const written = JSON.stringify(said.slice(0, given.length));
        expect(JSON.stringify(given)).toBe(written);
      }),
      { numRuns: 200 },
    );
  });

  it('a reader of a string member returns raw text that has another form unchanged', () => {
    const other = fc
      .oneof(
        fc.string(),
        fc.json(),
        fc.jsonValue().map((value) => JSON.stringify({ code: value })),
        fc.tuple(text, text).map(([code, more]) => JSON.stringify({ code, more })),
      )
      // A text that is the only member is the next case.
      .filter((json) => !/^\s*\{\s*"[^"\\]*"\s*:\s*"(?:[^"\\]|\\.)*"\s*\}\s*$/s.test(json));
    fc.assert(
      fc.property(other, places, (json, cuts) => {
        let value: unknown = json;
        try {
          value = JSON.parse(json);
        } catch {
          // No JSON at all.
        }
        expect(read(cut(json, cuts)).join('')).toBe(typeof value === 'string' ? value : json);
      }),
    );
  });

  it('a reader of a string member finds a text that is the only member, whatever its name', () => {
    fc.assert(
      fc.property(written, places, ({ text: said, json }, cuts) => {
        const other = json.replace('"input"', '"patch"');
        expect(read(cut(other, cuts)).join('')).toBe(said);
      }),
    );
  });

  it('a reader of a string member finds the text behind other members', () => {
    fc.assert(
      fc.property(text, fc.jsonValue(), places, (said, value, cuts) => {
        const json = JSON.stringify({ why: value, input: said });
        expect(read(cut(json, cuts)).join('')).toBe(said);
      }),
    );
  });

  it.each([10, 100_000])(
    'a reader of a string member returns the received part of a long text in pieces of %d that is cut off',
    (length) => {
      const said = 'print("hello")\n'.repeat(1000);
      const json = JSON.stringify({ input: said }).slice(0, -2);
      const pieces = json.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
      expect(read(pieces).join('')).toBe(said);
    },
  );
});
