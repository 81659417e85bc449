import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { anyCharacter } from '../../test/support/any-character.js';
import { jsonLength } from './json-size.js';

describe(jsonLength.name, () => {
  it('the length of a JSON text is never counted above the length of the text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
        expect(jsonLength(value)).toBeLessThanOrEqual(JSON.stringify(value).length);
      }),
    );
  });

  it.each([
    [[1, -2.5, true, null, 'text', ['nested', { a: 1, b: [2] }]]],
    ['text'],
    [{ a: { b: { c: 'd' } }, e: undefined }],
  ])('the length counted is the length of the text without escapes: %j', (value) => {
    expect(jsonLength(value)).toBe(JSON.stringify(value).length);
  });

  it('jsonLength stops beyond a limit', () => {
    const value = Array.from({ length: 100 }, () => ['some text', 'and more']);
    expect(jsonLength(value, { limit: 500 })).toBeGreaterThan(500);
    expect(jsonLength(value, { limit: 500 })).toBeLessThan(jsonLength(value));
  });

  it('jsonLength leaves out the texts of some members', () => {
    expect(jsonLength([{ data: 'x'.repeat(1000) }], { without: new Set(['data']) })).toBeLessThan(10);
  });
});
