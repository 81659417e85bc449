import type { Continuations, HeldConversation } from '../../context/index.js';
import type { Item, ResponseObject, StreamEvent, TerminalStatus, Usage } from '../../protocol/index.js';
import type { ForeignEvent, UpstreamAttempt, UpstreamNotice } from '../../providers/index.js';
import { type HeldLock, NO_LOCK } from '../../state/locks/index.js';
import type { Ending, StartedRun } from '../../state/index.js';
import type { Timer } from '../../time/index.js';
import type { AssemblerNote, AssemblerState } from '../assembler/state.js';
import type { Lease } from './admission.js';
import type { AdmittedTurn } from './admit.js';
import { type EarlyEnd, type StopReason, TurnStoppedError } from './stop-reason.js';
import type { TurnFiles } from './turn-files.js';
import type { BegunTurn, Door, ToolRun, Transport, TurnRecord } from './turn-observer.js';

/** The transport's side of a turn besides its events. */
export interface TurnClient {
  /** The dialect of the request; `responses` by default. */
  readonly door?: Door;
  /** The transport of the answer; `json` by default. */
  readonly transport?: Transport;
  /** Receives headers for the client, before the first events or not at all. Returns whether the client can still get them. */
  readonly onHeaders?: (headers: Readonly<Record<string, string>>) => boolean;
  /** Receives events that are not part of the protocol, in their place; without it they are dropped and counted. */
  readonly onEvent?: (event: ForeignEvent) => void;
  /** Receives what providers do about failures, at once; absent for clients that are not told. */
  readonly onNotice?: (notice: UpstreamNotice) => void;
  /** Breaks the client's connection without a terminal event: the turn was stopped with `cut`. */
  readonly breakConnection?: () => void | Promise<void>;
  /**
   * The responses that the transport can continue itself; looked up before the store, updated before the terminal
   * event.
   */
  readonly continuations?: Continuations | undefined;
}

/** The run of a background turn: what it goes on from, and where it ends. */
export interface BackgroundRun {
  /** What is stored for it: its context, and the events of earlier attempts. */
  readonly started: StartedRun;
  /** The state that those events make. */
  readonly state: AssemblerState;
  /** Whether an earlier attempt has written output. */
  readonly isResumed: boolean;
  /** When the request was accepted, milliseconds since the epoch. */
  readonly begunAt: number;
  /** Whether another process can go on with it. */
  readonly isDurable: boolean;
  /** The turn holds what it needs, and begins: it does not wait any more. */
  entered(): void;
  /** Stores the end of the response. Rejects with RunLostError, WriteLockLostError or ConversationChangedError. */
  finish(ending: BackgroundEnding): Promise<void>;
}

/** The end of a background response, as its turn knows it. */
export interface BackgroundEnding extends Pick<
  Ending,
  'response' | 'given' | 'origin' | 'conversation' | 'fence' | 'usage'
> {
  readonly events: readonly StreamEvent[];
  readonly notes: readonly AssemblerNote[];
}

/** The response of a running turn, as its transport may add to it. */
export interface Outlet {
  /**
   * Writes an event of the transport among those of the response, with the next number. `members` is JSON text that
   * follows it. False after the terminal event.
   */
  interject(type: string, members: string): boolean;

  /** The items that policies gave the model. */
  readonly given: readonly Item[];
}

/** The outcome of a turn, as far as it is known. */
type KnownOutcome = Pick<TurnRecord, 'provider' | 'status' | 'usage' | 'response' | 'errorCode'>;

/** Shared: most turns end before the first is known. */
const NO_ATTEMPTS: readonly UpstreamAttempt[] = [];
const NO_RUNS: readonly ToolRun[] = [];

/** A running turn: how it is stopped, what it holds, and how it ends. */
export class ActiveTurn {
  /** Milliseconds since the epoch; 0 before it entered. */
  startedAt = 0;
  /** Time of the first event of its model, milliseconds since the epoch; 0 before. */
  firstEventAt = 0;
  /** What its model has sent: how many batches, and the longest time between two, ms. */
  batches = 0;
  longestGapMs: number | null = null;
  /** Events that are not part of the protocol and that the client's transport cannot carry. */
  droppedEvents = 0;
  /** The lease of the Admission, released exactly once. */
  lease: Lease | null = null;
  /** The lock of its conversation or session. */
  lock: HeldLock = NO_LOCK;
  /** The conversation that it has locked and read; null without one. */
  conversation: HeldConversation | null = null;
  /** What it has made of its files; null while it has none. */
  files: TurnFiles | null = null;
  /** Whether its model can be steered; known once the turn is resolved. */
  isSteerable = false;
  /** The response; null before its passes begin. */
  outlet: Outlet | null = null;
  /** How its client has asked to end the response; null while it has not. */
  earlyEnd: EarlyEnd | null = null;
  /** Whether its usage is stored together with its response. */
  isUsageStored = false;
  /** The place of the turn among those that run; null while it is none of them. */
  place: number | null = null;
  /** Ends the turn after MAX_TURN_MS; null without a limit. */
  timeLimit: Timer | null = null;
  private lastBatchAt = 0;
  /** Null before the first: most turns have one attempt and no calls. */
  private made: UpstreamAttempt[] | null = null;
  private ran: ToolRun[] | null = null;
  private aborter = new AbortController();
  private stopped: TurnStoppedError | null = null;
  private isOver = false;
  private isConcluded = false;
  private interrupt: ((reason: TurnStoppedError) => void) | null = null;
  private cut: (() => void) | null = null;
  private readonly known: { -readonly [K in keyof KnownOutcome]: KnownOutcome[K] } = {
    provider: null,
    status: 'disconnected',
    usage: null,
    response: null,
    errorCode: null,
  };

  constructor(
    readonly admitted: AdmittedTurn,
    readonly client: TurnClient = {},
    /** Null for a turn whose client waits for it. */
    readonly run: BackgroundRun | null = null,
  ) {}

  get responseId(): string {
    return this.admitted.responseId;
  }

  /** Aborts with a TurnStoppedError when the turn is stopped, or what it has asked its model so far is not wanted any more. */
  get signal(): AbortSignal {
    return this.aborter.signal;
  }

  /** Why it was stopped; null while it was not. */
  get stopReason(): StopReason | null {
    return this.stopped?.reason ?? null;
  }

  /** Stops the turn and everything it waits for; only the first reason counts. A turn that is over is not stopped. */
  stop(reason: StopReason): void {
    if (this.stopped !== null || this.isOver) return;
    this.stopped = new TurnStoppedError(reason);
    this.aborter.abort(this.stopped);
    this.interrupt?.(this.stopped);
  }

  /**
   * Ends the response early, at the next boundary that is safe: with what was written so far if it is steered, with what
   * was finished if it is interrupted, which counts more. False when the model has had its last word.
   */
  endEarly(end: EarlyEnd): boolean {
    if (this.stopped !== null || this.isConcluded) return false;
    if (this.earlyEnd !== 'interrupted') this.earlyEnd = end;
    this.cut?.();
    return true;
  }

  /** Calls `cut` when the response is to end early, immediately if it already is. A turn asks one model at a time. */
  whenEndedEarly(cut: () => void): void {
    this.cut = cut;
    if (this.earlyEnd !== null) cut();
  }

  /** Aborts what the turn has asked its model; the turn itself goes on. */
  dismissModel(): void {
    const { aborter } = this;
    this.aborter = new AbortController();
    aborter.abort(new TurnStoppedError('over'));
  }

  /** The model has had its last word: from now on the response cannot be ended early. */
  conclude(): void {
    this.isConcluded = true;
  }

  /** Throws TurnStoppedError once the turn was stopped. */
  throwIfStopped(): void {
    if (this.stopped !== null) throw this.stopped;
  }

  /** Calls `interrupt` when the turn is stopped, immediately if it already was. A turn waits for one thing at a time. */
  whenStopped(interrupt: (reason: TurnStoppedError) => void): void {
    this.interrupt = interrupt;
    if (this.stopped !== null) interrupt(this.stopped);
  }

  /** Waits for a promise until the turn is stopped; then it rejects with the reason. */
  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.whenStopped(reject);
      promise.then(resolve, reject);
    });
  }

  /** The record for observers at its beginning. */
  get begun(): BegunTurn {
    const { responseId, caller, settings, trace } = this.admitted;
    const { door = 'responses', transport = 'json' } = this.client;
    const { model, background } = settings;
    const { startedAt } = this;
    return {
      responseId,
      caller,
      model,
      door,
      background: background === true,
      transport,
      startedAt,
      trace: trace ?? null,
    };
  }

  /** The outcome, as far as it is known. */
  get ending(): Readonly<KnownOutcome> {
    return this.known;
  }

  /** Records a batch of its model, at a time in milliseconds since the epoch. */
  heard(now: number): void {
    if (this.batches > 0) this.longestGapMs = Math.max(this.longestGapMs ?? 0, now - this.lastBatchAt);
    this.batches += 1;
    this.lastBatchAt = now;
  }

  /** The requests to upstreams so far. */
  get attempts(): readonly UpstreamAttempt[] {
    return this.made ?? NO_ATTEMPTS;
  }

  /** The calls of tools that have ended. */
  get toolRuns(): readonly ToolRun[] {
    return this.ran ?? NO_RUNS;
  }

  /** Records a request to an upstream. */
  attempted(attempt: UpstreamAttempt): void {
    if (this.made === null) this.made = [attempt];
    else this.made.push(attempt);
  }

  /** Records a call of a tool. */
  ranTool(run: ToolRun): void {
    if (this.ran === null) this.ran = [run];
    else this.ran.push(run);
  }

  /** Records the provider. */
  chose(provider: string): void {
    this.known.provider = provider;
  }

  /** Records a refusal, unless the turn has already ended. */
  refused(errorCode: string | null): void {
    if (this.known.status !== 'disconnected') return;
    this.known.status = 'refused';
    this.known.errorCode = errorCode;
  }

  /** Records the usage so far: it counts even if the client disconnects. */
  used(usage: Usage | null): void {
    if (usage !== null) this.known.usage = usage;
  }

  /** Whether the response has ended, and its end is stored or cannot be. */
  get hasEnded(): boolean {
    return this.known.status !== 'disconnected' && this.known.status !== 'refused';
  }

  /** Records the end of the response. */
  ended(response: ResponseObject & { readonly status: TerminalStatus }): void {
    const { status, usage, error } = response;
    this.known.response = response;
    this.known.status = status;
    this.known.usage = usage;
    this.known.errorCode = error?.code ?? null;
  }

  /** Releases its lock for the next turn; undefined when it holds none. Never rejects. */
  releaseLock(): Promise<void> | undefined {
    return this.lock === NO_LOCK ? undefined : this.lock.release();
  }

  /** Ends the turn, stops remaining work and frees its files. False when it was already over. */
  finish(): boolean {
    if (this.isOver) return false;
    const { status } = this.known;
    // A model that has finished needs no abort, which its upstream would take for a cancellation.
    if (status !== 'completed' && status !== 'incomplete') this.stop('over');
    this.isOver = true;
    this.files?.release();
    this.files = null;
    return true;
  }
}
