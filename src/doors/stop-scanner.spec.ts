import { expect, it } from '@jest/globals';
import fc from 'fast-check';

import { StopScanner } from './stop-scanner.js';

const SEED = 3;

/** What is shown of a text that comes in pieces, and the sequence that has cut it. */
function scan(pieces: readonly string[], sequences: readonly string[]): readonly [string, string | null] {
  const scanner = new StopScanner(sequences);
  const shown = pieces.map((piece) => scanner.push(piece));
  return [shown.join('') + scanner.flush(), scanner.found];
}

/** What `scan` must give, found by a look at every beginning of the text. */
function scanPlainly(text: string, sequences: readonly string[]): readonly [string, string | null] {
  const longestFirst = [...sequences].sort((one, other) => other.length - one.length);
  for (let end = 1; end <= text.length; end += 1) {
    const found = longestFirst.find((sequence) => text.slice(0, end).endsWith(sequence));
    if (found !== undefined) return [text.slice(0, end - found.length), found];
  }
  return [text, null];
}

const letters = (most: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: most });

it(`a stop scanner cuts a text before the sequence that is complete first, in whatever pieces it comes (seed ${SEED})`, () => {
  const sequences = fc.array(letters(6), { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(letters(5), { maxLength: 8 }), sequences, (pieces, stops) => {
      expect(scan(pieces, stops)).toEqual(scanPlainly(pieces.join(''), stops));
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

it('a stop scanner holds back no more than may begin a sequence', () => {
  const scanner = new StopScanner(['STOP', 'OTHER']);
  expect(['one ', 'ST', 'O', 'R'].map((piece) => scanner.push(piece))).toEqual(['one ', '', '', 'STOR']);
  expect(scanner.isCaughtUp).toBe(true);
});
