import { createHash } from 'node:crypto';

import type { StreamEvent } from '../../protocol/index.js';

/** Deltas and their obfuscation add up to a multiple of this many characters (protocol §4). */
const BLOCK = 16;

/** Padding is taken from this text; it hides lengths and need not be secret. */
const NOISE = createHash('shake256', { outputLength: 3072 })
  .digest('base64')
  .replaceAll(/[^A-Za-z0-9]/g, '');

/** The keepalive event: not part of the response, so it has no sequence number (protocol §1.1). */
export const KEEPALIVE_FRAME = 'event: keepalive\ndata: {"type":"keepalive"}\n\n';

/** A comment, which clients ignore. */
export const COMMENT = ':\n\n';

/** Ends the stream after its terminal event. */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** Moves the padding along the noise from event to event; odd, so that it repeats late. */
const STRIDE = 37;

/**
 * Encodes events as SSE frames: `event:`, `data:` and a blank line. A frame depends on nothing but its event, so that
 * every reader of a response gets the same bytes.
 */
export class SseEncoder {
  constructor(private readonly obfuscate: boolean) {}

  encode(batch: readonly StreamEvent[]): string {
    let frames = '';
    for (const event of batch) {
      const padding = this.obfuscate && event.deltaLength >= 0 ? paddingOf(event) : '';
      frames += `event: ${event.type}\ndata: ${event.json}${padding}}\n\n`;
    }
    return frames;
  }
}

function paddingOf({ sequenceNumber, deltaLength }: StreamEvent): string {
  const length = BLOCK - (deltaLength % BLOCK);
  const start = (sequenceNumber * STRIDE + deltaLength) % (NOISE.length - BLOCK);
  return `,"obfuscation":"${NOISE.slice(start, start + length)}"`;
}
