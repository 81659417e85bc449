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

/** Ends the stream after its terminal event. */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** Encodes events as SSE frames: `event:`, `data:` and a blank line. */
export class SseEncoder {
  private cursor = 0;

  constructor(private readonly obfuscate: boolean) {}

  encode(batch: readonly StreamEvent[]): string {
    let frames = '';
    for (const event of batch) {
      const padding = this.obfuscate && event.deltaLength >= 0 ? this.padding(event.deltaLength) : '';
      frames += `event: ${event.type}\ndata: ${event.json}${padding}}\n\n`;
    }
    return frames;
  }

  private padding(deltaLength: number): string {
    const length = BLOCK - (deltaLength % BLOCK);
    this.cursor = (this.cursor + 1 + deltaLength) % (NOISE.length - BLOCK);
    return `,"obfuscation":"${NOISE.slice(this.cursor, this.cursor + length)}"`;
  }
}
