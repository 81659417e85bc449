import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { StreamEvent } from '../../protocol/index.js';
import { SseEncoder } from './sse-encoder.js';

/** Deltas of these lengths. */
function toEvents(lengths: readonly number[]): readonly StreamEvent[] {
  return lengths.map((length, sequenceNumber) => {
    const json = `{"type":"t","sequence_number":${sequenceNumber},"delta":"${'x'.repeat(length)}"`;
    return { type: 't', sequenceNumber, json, deltaLength: length, response: null };
  });
}

const events = fc.array(fc.nat(40), { minLength: 1, maxLength: 60 }).map(toEvents);

describe(SseEncoder, () => {
  it('the encoder of SSE gives a reader that resumes anywhere the bytes that the first one got', () => {
    fc.assert(
      fc.property(events, (all) => {
        const whole = new SseEncoder(true).encode(all);
        for (let after = 0; after <= all.length; after++) {
          const [before, rest] = [all.slice(0, after), all.slice(after)];
          expect(new SseEncoder(true).encode(before) + new SseEncoder(true).encode(rest)).toBe(whole);
        }
      }),
    );
  });

  it('the encoder of SSE pads every delta to a multiple of 16 characters, also late in a long stream', () => {
    const late = [0, 1, 15, 16, 17].flatMap((deltaLength) =>
      [0, 4000, 2 ** 40].map((sequenceNumber) => ({ ...toEvents([deltaLength])[0], sequenceNumber }) as StreamEvent),
    );
    for (const event of late) {
      const [, obfuscation = ''] = /"obfuscation":"([A-Za-z0-9]+)"/.exec(new SseEncoder(true).encode([event])) ?? [];
      expect(obfuscation).toHaveLength(16 - (event.deltaLength % 16));
    }
  });

  it('the encoder of SSE pads deltas of one length differently', () => {
    const padding = new SseEncoder(true)
      .encode(toEvents(Array<number>(100).fill(3)))
      .matchAll(/"obfuscation":"(\w+)"/g);
    expect(new Set([...padding].map(([, noise]) => noise)).size).toBe(100);
  });
});
