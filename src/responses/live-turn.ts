import type { ResponseObject, TerminalStatus, Usage } from '../protocol/index.js';
import type { HeldSession } from '../sessions/index.js';
import type { Release } from './admission.js';
import type { RunningTurn } from './running-turns.js';
import { stopReasonOf } from './stop-reason.js';
import type { TurnRecord } from './turn-observer.js';

/** How a turn ended, as far as it is known. */
export type Ending = Pick<TurnRecord, 'provider' | 'status' | 'usage' | 'errorCode'>;

/** What a turn holds while it runs. */
export interface Entrance {
  readonly release: Release;
  readonly session: HeldSession;
}

/** A turn from its admission to its end. */
export class LiveTurn {
  private entrance: Entrance | null = null;
  private settled = false;
  private readonly ending: { -readonly [K in keyof Ending]: Ending[K] } = {
    provider: null,
    status: 'disconnected',
    usage: null,
    errorCode: null,
  };
  private readonly onStop = (): void => this.running.stop(stopReasonOf(this.transport));

  constructor(
    private readonly running: RunningTurn,
    private readonly transport: AbortSignal,
    private readonly doors: {
      readonly enter: () => Promise<Entrance>;
      readonly leave: (ending: Ending, entrance: Entrance | null) => void;
    },
  ) {
    if (transport.aborted) this.onStop();
    transport.addEventListener('abort', this.onStop);
  }

  /** Aborts when the turn is to stop, whoever wants it. */
  get signal(): AbortSignal {
    return this.running.signal;
  }

  /** Waits for a promise, but no longer than until the turn is to stop; then it throws the signal's reason. */
  until<T>(promise: Promise<T>): Promise<T> {
    return this.running.until(promise);
  }

  /** The model has been silent too long. */
  readonly timeOut = (): void => this.running.stop('timeout');

  /**
   * Waits to be let in. Throws what the admission and the session refuse with, and 503 when the process is shutting down.
   */
  async enter(): Promise<void> {
    this.entrance = await this.doors.enter();
  }

  /** The lease under which its session is held; null without one. */
  get fence(): number | null {
    return this.entrance?.session.fence ?? null;
  }

  /** Lets the next turn into the session. It never rejects. */
  async leaveSession(): Promise<void> {
    await this.entrance?.session.release();
  }

  chose(provider: string): void {
    this.ending.provider = provider;
  }

  /** What the model has cost so far counts even if the client leaves now. */
  used(usage: Usage | null): void {
    this.ending.usage = usage;
  }

  /** Notes a refusal, unless the turn has ended already. */
  refused(errorCode: string | null): void {
    if (this.ending.status !== 'disconnected') return;
    this.ending.status = 'refused';
    this.ending.errorCode = errorCode;
  }

  ended({ status, usage, error }: ResponseObject & { readonly status: TerminalStatus }): void {
    this.ending.status = status;
    this.ending.usage = usage;
    this.ending.errorCode = error?.code ?? null;
  }

  /** Stops what may still run for the turn, gives its place back and tells the observers. Once; later calls do nothing. */
  settle(): void {
    if (this.settled) return;
    this.settled = true;
    this.transport.removeEventListener('abort', this.onStop);
    // After its own end a model has nothing to stop, and an abort would look like one to its upstream.
    if (this.ending.status !== 'completed' && this.ending.status !== 'incomplete') this.running.stop('over');
    this.doors.leave(this.ending, this.entrance);
  }
}
