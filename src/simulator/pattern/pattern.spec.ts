import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { SeededRandom } from '../seeded-random.js';
import { boundWork, TooMuchWork } from '../work.js';
import { Pattern } from './pattern.js';

const RUNS = { seed: 20_261_125, numRuns: 500 };

const CHARACTERS = [
  'a',
  'b',
  'A',
  'B',
  '1',
  '_',
  ' ',
  '\n',
  '😀',
  '\ud83d',
  '\ude00',
  'ſ',
  'k',
  'K',
  's',
  '{',
  '\\',
  'u',
];
const PARTS = [
  'a',
  'b',
  'ab',
  'A',
  'ſ',
  'K',
  '.',
  '[ab]',
  '[^a]',
  '[^]',
  '[]',
  '[a-c]',
  '[\\d_a]',
  '\\w',
  '\\W',
  '\\d',
  '\\s',
];
const ESCAPES = ['\\n', '\\x61', '\\u0062', '[\\u0061-z]', '\\ud83d', '😀', '^', '$', '\\b', '\\B', '(?:)', ''];
const OF_UNICODE = ['\\u{61}', '[😀-😂]', '\\p{L}', '\\ud83d\\ude00'];
const OF_OLD = ['\\1', '\\2', '{', '}', ']', '\\8', '\\07', '\\c', '\\k', '\\u{2}'];
const REFERENCES = ['\\1', '(?<n>a)\\k<n>', '(?<m>b|)\\k<m>?', '(?:(?<o>a)|(?<o>b))\\k<o>'];
const QUANTIFIERS = ['*', '+', '?', '*?', '+?', '??', '{2}', '{1,2}', '{0,2}?', '{2,}', '{0}', '{2,}?', '{1'];
const AROUND = ['(?=', '(?!', '(?<=', '(?<!', '(?:', '('];

const text = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 8 }).map((characters) => characters.join(''));

function sourceOf(parts: readonly string[]): fc.Arbitrary<string> {
  return fc.letrec<{ source: string }>((tie) => ({
    source: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      { weight: 6, arbitrary: fc.constantFrom(...PARTS, ...ESCAPES, ...parts) },
      { weight: 3, arbitrary: fc.tuple(tie('source'), tie('source')).map((both) => both.join('')) },
      { weight: 2, arbitrary: fc.tuple(tie('source'), tie('source')).map((both) => `(?:${both.join('|')})`) },
      { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...AROUND), tie('source')).map((both) => `${both.join('')})`) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(tie('source'), fc.constantFrom(...QUANTIFIERS))
          .map(([part, times]) => `(?:${part})${times}`),
      },
      {
        weight: 2,
        arbitrary: fc.tuple(fc.constantFrom(...PARTS), fc.constantFrom(...QUANTIFIERS)).map((both) => both.join('')),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(tie('source'), fc.constantFrom(...REFERENCES))
          .map(([part, reference]) => `(${part})${reference}`),
      },
    ),
  })).source;
}

/** Whether V8 finds a match. It also looks between the halves of a surrogate pair, where ECMAScript has no position. */
function matches(expression: RegExp, text: string): boolean {
  if (!expression.unicode) return expression.test(text);
  const sticky = new RegExp(expression, `${expression.flags}y`);
  const starts = [...Array.from(text), ''].map((_, index, all) => all.slice(0, index).join('').length);
  return starts.some((start) => {
    sticky.lastIndex = start;
    return sticky.test(text);
  });
}

describe('test', () => {
  it.each(['u', '', 'iu', 'i', 'su', 'ms'])('a pattern finds what RegExp finds, with the flags "%s"', (flags) => {
    const source = sourceOf(flags.includes('u') ? OF_UNICODE : OF_OLD);
    let compared = 0;
    fc.assert(
      fc.property(source, fc.array(text, { minLength: 6, maxLength: 6 }), (written, texts) => {
        fc.pre(isValid(written, flags));
        const expression = new RegExp(written, flags);
        const pattern = new Pattern(written, flags);
        compared += 1;
        for (const one of texts) expect([one, pattern.test(one)]).toEqual([one, matches(expression, one)]);
      }),
      RUNS,
    );
    expect(compared).toBe(RUNS.numRuns);
  });

  it.each([
    ['(?i:a)b', 'Ab', 'AB'],
    ['(?i:x(?-i:a))', 'Xa', 'XA'],
    ['a(?s:.)b', 'a\nb', 'a\n'],
    ['(?m:^b)', 'a\nb', 'ab'],
  ])('a pattern knows flags within a pattern: %s', (source, good, bad) => {
    // Older versions of Node do not.
    if (!isValid(source, 'u')) return;
    const pattern = new Pattern(source, 'u');
    expect([pattern.test(good), pattern.test(bad)]).toEqual([true, false]);
  });

  it.each(['([', 'a{2,1}', '\\k<n>(?<m>a)', '(?<n>a)(?<n>b)'])('a pattern refuses %s as RegExp does', (source) => {
    expect(() => new Pattern(source, 'u')).toThrow(SyntaxError);
  });

  it('a pattern refuses groups within very many groups', () => {
    expect(() => new Pattern(`${'('.repeat(300)}a${')'.repeat(300)}`, 'u')).toThrow(RangeError);
  });

  it.each([
    ['^(a+)+$', 'a'.repeat(60)],
    ['^(a|a)*$', 'a'.repeat(60)],
    ['^(?:\\w|[a-z])*\\d$', 'abc'.repeat(20)],
    ['^\\w*\\w*\\w*\\w*\\w*!$', 'a'.repeat(3000)],
    ['(?=(a|a)+b)c|(.*)*\\1d', 'a'.repeat(60)],
    ['(?<=b(a|a)+)$', 'a'.repeat(60)],
    ['^(?:){2000000000}', ''],
  ])('a pattern counts the steps of %s, and throws when there are too many', (source, start) => {
    expect(() => boundWork(1_000_000, () => new Pattern(source, 'u').test(`${start} `))).toThrow(TooMuchWork);
  });

  it('a pattern takes steps in proportion to a text that is simple to match', () => {
    const text = 'ab'.repeat(30_000);
    expect(boundWork(1_000_000, () => new Pattern('^(?:a|b)*$', 'u').test(text))).toBe(true);
    expect(boundWork(1_000_000, () => new Pattern('^.*b$', 'u').test(text))).toBe(true);
  });
});

describe('draw', () => {
  it.each([
    '^[A-Z]{3}-\\d{4}$',
    '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)$',
    '^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$',
    '^[一-龥]{2,4}$',
    '^[\\u4e00-\\u9fa5]+$',
    '^\\p{Script=Greek}+$',
    '^(["\'])[a-z]+\\1$',
    '^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$',
    '^\\/[^\\/]+\\/$',
    '^😀{2}$',
  ])('draw draws what matches %s', (source) => {
    const pattern = new Pattern(source, 'u');
    const drawn = Array.from({ length: 30 }, (_, seed) => pattern.draw(new SeededRandom(seed), 0, 100));
    for (const text of drawn) expect(text).toMatch(new RegExp(source, 'u'));
    expect(pattern.draw(new SeededRandom(7), 0, 100)).toBe(drawn[7]);
  });

  it.each([
    ['^[a-z]+$', 40, 45],
    ['^[a-z]*$', 0, 1],
    ['^(?:ab?)*$', 19, 25],
    ['^(?:[a-z]+ )+$', 200, 260],
  ])('draw draws %s of %i to %i characters', (source, least, most) => {
    for (let seed = 0; seed < 20; seed++) {
      const text = new Pattern(source, 'u').draw(new SeededRandom(seed), least, most);
      expect(text).toMatch(new RegExp(source, 'u'));
      expect(text.length).toBeGreaterThanOrEqual(least);
      expect(text.length).toBeLessThanOrEqual(most);
    }
  });

  it('draw draws letters and digits where it may: other characters mean something to programs', () => {
    for (let seed = 0; seed < 50; seed++) {
      expect(new Pattern('^.[^a]\\S[$;a-c]$', 'u').draw(new SeededRandom(seed), 0, 9)).toMatch(/^[a-zA-Z0-9]{4}$/);
    }
  });

  it.each(['^(?:a{60000}){60000}$', '^(?:){2000000000}$'])('draw counts the steps of %s', (source) => {
    const pattern = new Pattern(source, 'u');
    expect(() => boundWork(1_000_000, () => pattern.draw(new SeededRandom(1), 0, 100))).toThrow(TooMuchWork);
  });

  it.each([
    ['^[A-Z]{3}-\\d{4}$', 8],
    ['a|bc|', 0],
    ['(?:ab+){3}(?=c)', 6],
    ['(?:a{9999}){9999}', 99_980_001],
    [`(?:){${'9'.repeat(400)}}`, 0],
  ])('draw knows the shortest text of %s', (source, shortest) => {
    expect(new Pattern(source, 'u').shortest).toBe(shortest);
  });
});

function isValid(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}
