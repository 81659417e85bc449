import { describe, expect, it } from '@jest/globals';
import { didYouMean, isNearMiss } from './did-you-mean.js';

const KNOWN = ['input', 'include', 'tools', 'top_p', 'store', 'stream'];

describe(didYouMean, () => {
  it.each([
    ['inputs', ['input']],
    ['tool', ['tools']],
    ['sotre', ['store']],
    ['topp', ['top_p']],
    ['st', []],
    ['something_else', []],
    ['', []],
  ])('didYouMean suggests for %s: %j', (unknown, suggestions) => {
    expect(didYouMean(unknown, KNOWN)).toEqual(suggestions);
  });

  it('a suggestion puts the nearest first', () => {
    expect(didYouMean('tools', ['tolls_', 'toolz'])).toEqual(['toolz', 'tolls_']);
  });
});

describe(isNearMiss, () => {
  it.each([
    ['temprature', true],
    ['tempreature', true],
    ['temperture', true],
    ['temp', false],
    ['sotre', true],
    ['scope', false],
    ['state', false],
    ['mode', true],
    ['type', false],
    ['usr', false],
    ['x'.repeat(100_000), false],
  ])('a near miss of %s is %s', (name, isNear) => {
    expect(isNearMiss(name, ['temperature', 'store', 'model', 'text', 'user'])).toBe(isNear);
  });
});
