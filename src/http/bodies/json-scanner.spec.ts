import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ApiError } from '../../protocol/index.js';
import { type JsonLimits, JsonScanner } from './json-scanner.js';

const GENEROUS: JsonLimits = { values: 1_000_000, names: 1_000_000, levels: 256 };
const SEED = 20_261_122;

/** Scans in slices. Returns the refusal, or null. */
function refusalOf(text: string, limits: Partial<JsonLimits>, slice = text.length): unknown {
  const bytes = Buffer.from(text);
  const scanner = new JsonScanner(bytes, { ...GENEROUS, ...limits });
  try {
    for (let end = slice; !scanner.scan(end); end += slice);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, code, param } = error;
    return { status, code, param };
  }
  return null;
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + countValues(member), 1);
}

function countLevels(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(countLevels));
}

/** Texts full of what a scanner could take for structure, and longer ones. */
const text = fc.oneof(
  fc.string(),
  fc.stringMatching(/^["\\[\]{},: ]*$/),
  fc.tuple(fc.nat(200), fc.stringMatching(/^["\\]*$/)).map(([length, end]) => 'x'.repeat(length) + end),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
})).value;

describe('any JSON, in slices of any length', () => {
  const cases = fc.tuple(json, fc.nat(40), fc.constantFrom(0, 2));

  it(`the scanner counts the values of any JSON (seed ${SEED})`, () => {
    const property = fc.property(cases, ([value, slice, indent]) => {
      const [source, values] = [JSON.stringify(value, null, indent), countValues(value)];
      expect(refusalOf(source, { values }, slice + 1)).toBeNull();
      if (values === 1) return;
      const refusal = refusalOf(source, { values: values - 1 }, slice + 1);
      expect(refusal).toMatchObject({ status: 413, code: 'request_too_large' });
    });
    fc.assert(property, { seed: SEED, numRuns: 1000, examples: [[[[[]], 0, 0]]] });
  });

  it(`the scanner counts the levels of any JSON (seed ${SEED})`, () => {
    const property = fc.property(cases, ([value, slice, indent]) => {
      const [source, levels] = [JSON.stringify(value, null, indent), countLevels(value)];
      expect(refusalOf(source, { levels }, slice + 1)).toBeNull();
      if (levels === 0) return;
      const refusal = refusalOf(source, { levels: levels - 1 }, slice + 1);
      expect(refusal).toMatchObject({ status: 400, code: 'invalid_value' });
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });

  it(`the scanner does not fail on a text, even when it is no JSON (seed ${SEED})`, () => {
    const property = fc.property(
      fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '1', 'a', ' ') }),
      fc.nat(9),
      (source, slice) => {
        expect(refusalOf(source, {}, slice + 1)).toBeNull();
      },
    );
    fc.assert(property, { seed: SEED, numRuns: 2000 });
  });
});

describe('names', () => {
  const objectOf = (names: number, prefix: string): string =>
    `{${Array.from({ length: names }, (_, index) => `"${prefix}${index}":1`).join(',')}}`;

  it('names are counted once, wherever they are', () => {
    const repeated = `[${Array.from({ length: 20 }, () => objectOf(1000, 'name')).join(',')}]`;
    expect(refusalOf(repeated, { names: 5100 })).toBeNull();
    expect(refusalOf(objectOf(10_000, 'name'), { names: 5100 })).toMatchObject({ code: 'request_too_large' });
  });

  it('a count of names misses few', () => {
    expect(refusalOf(objectOf(52_000, 'k'), { names: 50_000 })).toMatchObject({ code: 'request_too_large' });
    expect(refusalOf(objectOf(50_000, 'k'), { names: 50_000 })).toBeNull();
  });
});

it('the scanner refuses the name of a member that is too long', () => {
  const named = (length: number): string => `{"model":"m","text":{"${'~'.repeat(length)}":1}}`;
  expect(refusalOf(named(16 * 1024), {})).toBeNull();
  expect(refusalOf(named(16 * 1024 + 1), {}, 100)).toEqual({ status: 400, code: 'invalid_value', param: 'text' });
});

describe('the parameter of a refusal', () => {
  it.each<[string, string | null]>([
    ['{"model":"m","input":[1,[2,[3]]]}', 'input'],
    ['{"a\\"b":[[[1]]]}', 'a\\"b'],
    ['{"__proto__":[[[1]]]}', '__proto__'],
    ['[[[[1]]]]', null],
  ])('the parameter of a refusal in %s is %p', (source, param) => {
    const refusal = { status: 400, code: 'invalid_value', param };
    expect(refusalOf(source, { levels: 3 })).toEqual(refusal);
    expect(refusalOf(source, { levels: 3 }, 1)).toEqual(refusal);
  });
});
