import { Logger } from '@nestjs/common';

import type { ResponseAssembler } from '../assembler/index.js';
import type { ActiveTurn } from './active-turn.js';
import type { EventSink } from './event-sink.js';

const logger = new Logger('Turn');

/**
 * Hands what was written of a response to its client, in order: while the client has to catch up, what is written meanwhile
 * stays in the assembler, whoever does not wait for it.
 */
export class Delivery {
  private catchingUp: Promise<void> | undefined;
  private isBroken = false;

  /** Without a sink there is nothing to deliver. */
  constructor(
    private readonly turn: ActiveTurn,
    private readonly assembler: ResponseAssembler,
    private readonly sink: EventSink | null,
  ) {}

  /** Whether a client sees the events. */
  get isStream(): boolean {
    return this.sink !== null;
  }

  /** Hands over what was written; a promise, which never rejects, where the client has to catch up before more may come. */
  deliver(): Promise<void> | undefined {
    if (this.sink === null || this.catchingUp !== undefined) return this.catchingUp;
    const waiting = this.write(this.sink);
    if (waiting !== undefined) this.catchingUp = this.catchUp(waiting, this.sink);
    return this.catchingUp;
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
      // A transport that takes nothing any more cannot tell its client either.
      this.isBroken = true;
      logger.error(`the events of ${this.turn.responseId} could not be sent`, error);
      this.turn.stop('cut');
      return undefined;
    }
  }
}
