import type { WireEvent } from './rule.js';
import type { SocketClient } from './socket-client.js';

const ENDS = new Set(['response.completed', 'response.failed', 'response.incomplete', 'error']);

/** Whether a frame ends a turn: its terminal event, or the error that it was refused with. */
export function isEnd({ type }: WireEvent): boolean {
  return ENDS.has(type);
}

/** The next frame of a lane that ends a turn; what comes before it is passed over. */
export async function nextEnd(client: SocketClient, streamId?: string): Promise<WireEvent> {
  for (;;) {
    const frame = await client.nextOf(streamId);
    if (isEnd(frame)) return frame;
  }
}
