import { createHash } from 'node:crypto';

import type { StreamEvent } from '../../protocol/index.js';

/** What a stream of server-sent events looks like in one dialect. One per stream: it may remember what it has written. */
export interface StreamForm {
  /** Sent when the stream has been silent for SSE_KEEPALIVE_MS. */
  readonly keepalive: string;
  /** Sent after the terminal event. */
  readonly end: string;
  /** Whether the client wants no more of the answer: the response ends early. Absent for forms that show all of it. */
  readonly isOver?: boolean;
  /** The frames of a batch of events; may be empty. */
  encode(batch: readonly StreamEvent[]): string;
}

/** Deltas and their obfuscation add up to a multiple of this many characters (protocol §4). */
const BLOCK = 16;

/** Padding is taken from this text; it hides lengths and need not be secret. */
const NOISE = createHash('shake256', { outputLength: 3072 })
  .digest('base64')
  .replaceAll(/[^A-Za-z0-9]/g, '');

/** A comment, which clients ignore. */
export const COMMENT = ':\n\n';

/** Moves the padding along the noise from event to event; odd, so that it repeats late. */
const STRIDE = 37;

/**
 * The form of the Responses API. Encodes events as SSE frames: `event:`, `data:` and a blank line. A frame depends on nothing but its event, so that
 * every reader of a response gets the same bytes.
 */
export class SseEncoder implements StreamForm {
  /** Not part of the response, so it has no sequence number (protocol §1.1). */
  readonly keepalive = 'event: keepalive\ndata: {"type":"keepalive"}\n\n';
  readonly end = 'data: [DONE]\n\n';

  constructor(private readonly obfuscate: boolean) {}

  encode(batch: readonly StreamEvent[]): string {
    let frames = '';
    for (const event of batch) {
      const padding = this.obfuscate && event.deltaLength >= 0 ? obfuscationOf(event) : '';
      frames += `event: ${event.type}\ndata: ${event.json}${padding}}\n\n`;
    }
    return frames;
  }
}

/** The member that hides the length of an event's delta, as JSON text behind a comma (protocol §4). */
export function obfuscationOf({ sequenceNumber, deltaLength }: StreamEvent): string {
  const length = BLOCK - (deltaLength % BLOCK);
  const start = (sequenceNumber * STRIDE + deltaLength) % (NOISE.length - BLOCK);
  return `,"obfuscation":"${NOISE.slice(start, start + length)}"`;
}
