import type { Continuations } from '../../context/index.js';
import type { ResponseObject, TerminalStatus, Usage } from '../../protocol/index.js';
import { type HeldSession, NO_SESSION } from '../../sessions/index.js';
import type { Lease } from './admission.js';
import type { AdmittedTurn } from './admit.js';
import { type StopReason, TurnStoppedError } from './stop-reason.js';
import type { BegunTurn, Transport, TurnRecord } from './turn-observer.js';

/** What a transport does for a turn beyond taking its events. */
export interface TurnClient {
  /** How the answer leaves; `json` where it is not said. */
  readonly transport?: Transport;
  /** Takes headers for the client; they come before the first events or not at all. */
  readonly onHeaders?: (headers: Readonly<Record<string, string>>) => void;
  /** Ends the client's connection without a word, as a broken network would: the turn was stopped with `cut`. */
  readonly breakConnection?: () => void | Promise<void>;
  /** What the transport remembers of its own turns; asked before the store, told before the terminal event. */
  readonly continuations?: Continuations;
}

/** How a turn ended, as far as it is known. */
type Ending = Pick<TurnRecord, 'provider' | 'status' | 'usage' | 'errorCode'>;

/** A turn while it runs: how it is stopped, what it holds, and how it ends. */
export class ActiveTurn {
  /** Milliseconds since the epoch; 0 before it was admitted. */
  startedAt = 0;
  /** When the first event of its model came, in milliseconds since the epoch; 0 before. */
  firstEventAt = 0;
  /** What the admission gave for it, to be released once. */
  lease: Lease | null = null;
  session: HeldSession = NO_SESSION;
  private readonly aborter = new AbortController();
  private stopped: TurnStoppedError | null = null;
  private isOver = false;
  private interrupt: ((reason: TurnStoppedError) => void) | null = null;
  private readonly known: { -readonly [K in keyof Ending]: Ending[K] } = {
    provider: null,
    status: 'disconnected',
    usage: null,
    errorCode: null,
  };

  constructor(
    readonly admitted: AdmittedTurn,
    readonly client: TurnClient = {},
  ) {}

  get responseId(): string {
    return this.admitted.responseId;
  }

  /** Aborts, with a TurnStoppedError as its reason, when the turn is to stop. */
  get signal(): AbortSignal {
    return this.aborter.signal;
  }

  /** Why it was stopped; null as long as it was not. */
  get stopReason(): StopReason | null {
    return this.stopped?.reason ?? null;
  }

  /** Stops the turn, and with it whatever it waits for; the first reason counts. Once it is over there is nothing to stop. */
  stop(reason: StopReason): void {
    if (this.stopped !== null || this.isOver) return;
    this.stopped = new TurnStoppedError(reason);
    this.aborter.abort(this.stopped);
    this.interrupt?.(this.stopped);
  }

  /** Throws TurnStoppedError once the turn was stopped. */
  throwIfStopped(): void {
    if (this.stopped !== null) throw this.stopped;
  }

  /** Has `interrupt` called when the turn is stopped, at once where it was. A turn waits for one thing at a time. */
  whenStopped(interrupt: (reason: TurnStoppedError) => void): void {
    this.interrupt = interrupt;
    if (this.stopped !== null) interrupt(this.stopped);
  }

  /** Waits for a promise, but no longer than until the turn is stopped; then it throws why. */
  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.whenStopped(reject);
      promise.then(resolve, reject);
    });
  }

  /** What observers are told of it from its beginning. */
  get begun(): BegunTurn {
    const { responseId, caller, settings } = this.admitted;
    const { transport = 'json' } = this.client;
    return { responseId, caller, model: settings.model, transport, startedAt: this.startedAt };
  }

  /** How it ended, as far as that is known. */
  get ending(): Readonly<Ending> {
    return this.known;
  }

  /** Notes who answers. */
  chose(provider: string): void {
    this.known.provider = provider;
  }

  /** Notes a refusal, unless the turn has ended already. */
  refused(errorCode: string | null): void {
    if (this.known.status !== 'disconnected') return;
    this.known.status = 'refused';
    this.known.errorCode = errorCode;
  }

  /** Notes what models have cost so far: it counts even if the client leaves now. */
  used(usage: Usage | null): void {
    if (usage !== null) this.known.usage = usage;
  }

  /** Notes the end of the response. */
  ended({ status, usage, error }: ResponseObject & { readonly status: TerminalStatus }): void {
    this.known.status = status;
    this.known.usage = usage;
    this.known.errorCode = error?.code ?? null;
  }

  /** Lets the next turn into the session; undefined when there is nothing to wait for. It never rejects. */
  leaveSession(): Promise<void> | undefined {
    return this.session === NO_SESSION ? undefined : this.session.release();
  }

  /** Stops what may still run for the turn. Gives false when that was done before. */
  finish(): boolean {
    if (this.isOver) return false;
    const { status } = this.known;
    // After its own end a model has nothing to stop, and an abort would look like one to its upstream.
    if (status !== 'completed' && status !== 'incomplete') this.stop('over');
    this.isOver = true;
    return true;
  }
}
