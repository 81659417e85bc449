import { Logger } from '@nestjs/common';

import type { Item } from '../../protocol/index.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { ActiveTurn, Outlet } from './active-turn.js';
import type { EventSink } from './event-sink.js';

const logger = new Logger('Turn');

/**
 * Passes the events of a response to its client, in order. While the client has to catch up, new events stay in the
 * assembler, even if the caller does not wait.
 */
export class Delivery implements Outlet {
  private catchingUp: Promise<void> | undefined;
  private isBroken = false;

  /** Without a sink, nothing is delivered. */
  constructor(
    private readonly turn: ActiveTurn,
    private readonly assembler: ResponseAssembler,
    private readonly sink: EventSink | null,
  ) {}

  /** Whether events are streamed to a client. */
  get isStream(): boolean {
    return this.sink !== null;
  }

  get given(): readonly Item[] {
    return this.assembler.state.given.flatMap(({ items }) => items);
  }

  interject(type: string, members: string): boolean {
    if (!this.assembler.interject(type, members)) return false;
    void this.deliver();
    return true;
  }

  /** Delivers pending events. Returns a promise, which never rejects, when the client has to catch up first. */
  deliver(): Promise<void> | undefined {
    if (this.sink === null || this.catchingUp !== undefined) return this.catchingUp;
    const waiting = this.write(this.sink);
    if (waiting !== undefined) this.catchingUp = this.catchUp(waiting, this.sink);
    return this.catchingUp;
  }

  /** Resolves once another process would find what was delivered; at once where none goes on. Rejects when it cannot be written any more. */
  async stored(): Promise<void> {
    await this.deliver();
    await this.sink?.stored?.();
  }

  private async catchUp(waiting: Promise<void>, sink: EventSink): Promise<void> {
    for (let next: Promise<void> | undefined = waiting; next !== undefined; next = this.write(sink)) await next;
    this.catchingUp = undefined;
  }

  private write(sink: EventSink): Promise<void> | undefined {
    if (this.isBroken) return undefined;
    const { assembler } = this;
    try {
      if (sink.note !== undefined) {
        const notes = assembler.takeNotes();
        if (notes.length > 0) sink.note(notes);
      }
      const events = assembler.takeEvents();
      return events.length > 0 ? sink.write(events) : undefined;
    } catch (error) {
      // After an error in the transport, the client cannot be reached either.
      this.isBroken = true;
      logger.error(`the events of ${this.turn.responseId} could not be sent`, error);
      this.turn.stop('cut');
      return undefined;
    }
  }
}
