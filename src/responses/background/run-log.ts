import type { Logger } from '@nestjs/common';

import type { StreamEvent } from '../../protocol/index.js';
import {
  type BackgroundRuns,
  type EventLog,
  isOutOfPlace,
  type LogBatch,
  type Run,
  RunLostError,
  type StartedRun,
  StoreUnavailableError,
} from '../../state/index.js';
import { Backoff, type Clock, type Pauses } from '../../time/index.js';
import type { AssemblerNote, AssemblerState } from '../assembler/state.js';
import { foldEvents } from '../assembler/fold-events.js';
import { ActiveTurn, type BackgroundEnding, type BackgroundRun } from '../turn/active-turn.js';
import type { EventSink } from '../turn/event-sink.js';
import { isUnanswered } from '../turn/stop-reason.js';
import type { BackgroundEndings } from './background-endings.js';
import type { BackgroundTurn } from './background-turn.js';

/** Events of this time are appended together, where appending costs a round trip, ms. */
const BATCH_MS = 5;
/** Unless there are more characters than this. */
const BATCH_CHARACTERS = 16 * 1024;
/** The model is paused while more characters than this wait to be appended. */
const MOST_PENDING_CHARACTERS = 256 * 1024;

/** Pauses between attempts while the store is not available. */
const PAUSES: Pauses = { firstMs: 100, longestMs: 5000 };

/** The dependencies of a RunLog. */
export interface RunLogDependencies {
  readonly runs: BackgroundRuns;
  readonly log: EventLog;
  readonly endings: BackgroundEndings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDurable: boolean;
}

/**
 * What a run of a background response writes: events and notes in batches, and its end. While the store is not
 * available, the run waits. No reader sees an event before it is stored.
 */
export class RunLog implements EventSink, BackgroundRun {
  /** The turn that writes it; stopped when it can write nothing more. */
  readonly turn: ActiveTurn;
  readonly begunAt: number;
  readonly state: AssemblerState;
  readonly isDurable: boolean;
  readonly isResumed: boolean;
  private events: StreamEvent[] = [];
  private notes: AssemblerNote[] = [];
  private pendingCharacters = 0;
  private nextEvent: number;
  private nextNote: number;
  private appending: Promise<void> | null = null;
  private isScheduled = false;
  /** Why nothing more can be written. */
  private failure: Error | null = null;

  constructor(
    private readonly dependencies: RunLogDependencies,
    private readonly run: Run,
    readonly started: StartedRun,
    { admitted, transport, begunAt }: BackgroundTurn,
  ) {
    this.begunAt = begunAt;
    this.isDurable = dependencies.isDurable;
    this.state = foldEvents(started.log);
    this.isResumed = this.state.items.length > 0;
    this.nextEvent = this.state.sequenceNumber;
    this.nextNote = started.log.notes.length;
    this.turn = new ActiveTurn({ ...admitted, input: started.input }, { transport }, this);
  }

  /** Logs a restart only when the turn begins: until then it may be handed back several times. */
  entered(): void {
    const { attempts } = this.started;
    if (attempts === 1) return;
    const { responseId } = this.run;
    this.dependencies.logger.warn(`${responseId} runs again, attempt ${attempts}: its process has died`);
  }

  note(notes: readonly AssemblerNote[]): void {
    this.notes.push(...notes);
    this.schedule();
  }

  write(events: readonly StreamEvent[]): Promise<void> | undefined {
    for (const event of events) {
      this.events.push(event);
      this.pendingCharacters += event.json.length;
    }
    if (this.pendingCharacters > BATCH_CHARACTERS) this.flush();
    else this.schedule();
    return this.pendingCharacters > MOST_PENDING_CHARACTERS ? (this.appending ?? undefined) : undefined;
  }

  async stored(): Promise<void> {
    this.flush();
    while (this.appending !== null) await this.appending;
    if (this.failure === null) return;
    this.turn.signal.throwIfAborted();
    throw this.failure;
  }

  async finish(ending: BackgroundEnding): Promise<void> {
    await this.stored();
    const { events, notes } = ending;
    const batch = this.toBatch(events, notes);
    const whole = this.dependencies.endings.toEnding(this.turn.admitted, ending, batch);
    try {
      await this.persist(() => this.dependencies.runs.finish(this.run, whole));
    } catch (error) {
      if (!(error instanceof RunLostError)) throw error;
      this.giveUp(error);
      this.turn.signal.throwIfAborted();
    }
  }

  /** The error that ended the writing; null if there was none. */
  get error(): Error | null {
    return this.failure;
  }

  private giveUp(error: unknown): void {
    this.failure = error instanceof Error ? error : new Error(String(error));
    this.turn.stop('lost');
  }

  private schedule(): void {
    if (this.isScheduled || this.appending !== null) return;
    if (!this.isDurable) {
      this.flush();
      return;
    }
    this.isScheduled = true;
    this.dependencies.clock.schedule(BATCH_MS, () => {
      this.isScheduled = false;
      this.flush();
    });
  }

  /** Appends what waits, and what is added meanwhile. */
  private flush(): void {
    if (this.appending !== null || this.failure !== null) return;
    if (this.events.length === 0 && this.notes.length === 0) return;
    this.appending = this.appendAll();
  }

  private async appendAll(): Promise<void> {
    try {
      while (this.events.length > 0 || this.notes.length > 0) {
        const batch = this.toBatch(this.events, this.notes);
        this.events = [];
        this.notes = [];
        this.pendingCharacters = 0;
        await this.persist(() => this.dependencies.log.append(this.run, batch));
      }
    } catch (error) {
      this.giveUp(error);
    }
    // Not later: events that are written from now on need a flush of their own.
    this.appending = null;
  }

  private toBatch(events: readonly StreamEvent[], notes: readonly AssemblerNote[]): LogBatch {
    const batch = { firstEvent: this.nextEvent, firstNote: this.nextNote, events, notes };
    this.nextEvent += events.length;
    this.nextNote += notes.length;
    return batch;
  }

  /** Waits as long as the store is not available and the run is not stopped. */
  private async persist(write: () => Promise<void>): Promise<void> {
    const { turn } = this;
    const { clock } = this.dependencies;
    const { signal } = turn;
    const backoff = new Backoff(clock, PAUSES);
    for (;;) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isOutage(error)) throw error;
        // The end of a turn that was stopped for its time is stored too, however long that takes.
        if (isUnanswered(turn.stopReason)) signal.throwIfAborted();
        await clock.sleep(backoff.failed(), signal.aborted ? undefined : signal);
        if (isUnanswered(turn.stopReason)) signal.throwIfAborted();
      }
    }
  }
}

/** Whether the same write may succeed later: not once the lock or the conversation is no longer the turn's. */
function isOutage(error: unknown): boolean {
  return error instanceof StoreUnavailableError && !isOutOfPlace(error);
}
