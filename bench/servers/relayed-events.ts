import type { ServerResponse } from 'node:http';

import { makeId } from './floor-items.ts';
import { SSE_DONE, toSseFrame, toSseHeaders } from './sse-format.ts';

/** The members of an event that a relay changes. */
interface RelayedEvent {
  readonly type: string;
  sequence_number: number;
  readonly response?: { id: string };
  readonly [member: string]: unknown;
}

/** Relays the events of one response: each is parsed, gets our id and number, and is serialised; one write per read. */
export class RelayedEvents {
  private readonly reply: ServerResponse;
  private readonly id = makeId('resp');
  private sequenceNumber = 0;
  private frames = '';
  private isFlushing = false;
  private isDone = false;

  constructor(reply: ServerResponse) {
    this.reply = reply;
    reply.writeHead(200, toSseHeaders());
  }

  /** Takes an event, JSON. Returns whether it was the last one. */
  take(json: string): boolean {
    const event = JSON.parse(json) as RelayedEvent;
    event.sequence_number = this.sequenceNumber++;
    if (event.response !== undefined) event.response.id = this.id;
    this.frames += toSseFrame(event);
    this.isDone = event.type === 'response.completed';
    // One read of the socket emits several of these events in sequence; the next tick comes after all of them.
    if (!this.isFlushing) process.nextTick(() => this.flush());
    this.isFlushing = true;
    return this.isDone;
  }

  private flush(): void {
    this.isFlushing = false;
    if (this.isDone) this.reply.end(this.frames + SSE_DONE);
    else this.reply.write(this.frames);
    this.frames = '';
  }
}
