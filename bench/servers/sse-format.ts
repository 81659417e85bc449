import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';

import type { FloorEvent } from './floor-response.ts';

/** The end of a stream. */
export const SSE_DONE = 'data: [DONE]\n\n';

/** The headers of a stream, as many as the service sends. */
export function toSseHeaders(): OutgoingHttpHeaders {
  return {
    'x-request-id': `req_${randomUUID()}`,
    'openai-version': '2020-10-01',
    'openai-processing-ms': '0',
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  };
}

/** Events as SSE frames. */
export function toSseFrames(events: readonly FloorEvent[]): string {
  let frames = '';
  for (const event of events) frames += toSseFrame(event);
  return frames;
}

/** An event as an SSE frame. */
export function toSseFrame(event: FloorEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
