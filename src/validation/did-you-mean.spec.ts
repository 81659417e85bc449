import { describe, expect, it } from '@jest/globals';
import { didYouMean } from './did-you-mean.js';

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
  ])('answers %s with %j', (unknown, suggestions) => {
    expect(didYouMean(unknown, KNOWN)).toEqual(suggestions);
  });

  it('puts the nearest first', () => {
    expect(didYouMean('tools', ['tolls_', 'toolz'])).toEqual(['toolz', 'tolls_']);
  });
});
