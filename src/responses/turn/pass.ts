import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { Environment } from '../../config/index.js';
import { REASONING_INCLUDED, toRateLimitHeaders, withoutUpstream } from '../../protocol/index.js';
import {
  askProvider,
  type Finish,
  type FinishReason,
  type ForeignEvent,
  isBatch,
  isPlainReasoning,
  ModelError,
  type ModelEvent,
  type ModelRoute,
  type ModelSink,
  type PlainReasoning,
  pumpStream,
  type Turn,
  type UpstreamAttempt,
} from '../../providers/index.js';
import type { Clock, Timer } from '../../time/index.js';
import { ProviderContractError, requireText } from '../assembler/output-item.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import { toFinish } from '../assembler/state.js';
import type { ActiveTurn } from './active-turn.js';
import { isForeignLimit, isLimits, requireForeign, withoutForeignLimits } from './beside-response.js';
import type { CountedReasoning } from './counted-reasoning.js';
import type { Delivery } from './delivery.js';
import type { OwnPass, TurnPolicy } from './pass-policy.js';
import type { ReasoningSealer } from './reasoning-sealer.js';
import type { TurnObservers } from './turn-observer.js';

/** Batches taken before the event loop gets a turn, so that a fast provider does not block it. */
const BATCHES_PER_LOOP_TURN = 32;

const FINISH_REASONS: ReadonlySet<unknown> = new Set<FinishReason>(['stop', 'length', 'content_filter']);

/** For most providers, that is all. */
const NOTHING_TOLD = { events: [], isWhole: true };

/** The dependencies that the passes of a turn share. */
export interface PassDependencies {
  readonly turn: ActiveTurn;
  readonly assembler: ResponseAssembler;
  readonly delivery: Delivery;
  readonly policies: readonly TurnPolicy[];
  /** Null for a client that needs no sealed reasoning. */
  readonly sealer: ReasoningSealer | null;
  readonly observers: TurnObservers;
  readonly reasoning: CountedReasoning;
  readonly clock: Clock;
  readonly limits: Pick<Environment, 'MODEL_IDLE_TIMEOUT_MS' | 'MODEL_ACCEPT_TIMEOUT_MS' | 'SSE_KEEPALIVE_MS'>;
}

/** One request to one model: receives the provider's events and passes them on. */
export class Pass implements ModelSink {
  isClosed = false;
  /** Aborts when the turn is stopped, or its client has ended this pass. */
  readonly signal: AbortSignal;
  /** Whether neither a client nor a policy reads the answer before its end. */
  readonly isReadAtEnd: boolean;
  /** Whether a policy answers it. */
  private isOwn = false;
  /** Passes on what the provider does about a failure. It says nothing of the response, which need not exist yet. */
  readonly notice: ModelSink['notice'] = (notice) => this.dependencies.turn.client.onNotice?.(notice);
  private finish: Finish | null = null;
  /** Events that wait for the keys of seals, oldest first. */
  private readonly backlog: ModelEvent[] = [];
  /** The reading of the keys and what then follows; null while nothing waits for them. */
  private catchingUp: Promise<void> | null = null;
  /** What the provider has told the client before its output. */
  private beginning: { readonly events: readonly ModelEvent[]; readonly isWhole: boolean } = NOTHING_TOLD;
  /** The events of it that were passed on. */
  private told: readonly ModelEvent[] = NOTHING_TOLD.events;
  /** Whether the stream waits only for the head of the upstream's answer. */
  private isOverdue = false;
  /** Whether the usage counts the reasoning of earlier turns. */
  private countsReasoning = false;
  private batches = 0;
  /** Number of pending writes: a client that is behind must not count as a silent model. */
  private held = 0;
  private idle: Timer | null = null;
  private acceptance: Timer | null = null;
  private resolve: (finish: Finish | null) => void = () => undefined;
  private reject: (error: unknown) => void = () => undefined;

  /**
   * `isAccepted`: the response exists, so that errors from now on fail it. True in later passes and in background turns;
   * in the first pass of others, once the model has sent its first batch, or when a stream was not refused within
   * MODEL_ACCEPT_TIMEOUT_MS.
   */
  constructor(
    private readonly dependencies: PassDependencies,
    public isAccepted: boolean,
  ) {
    const { turn, delivery, policies } = dependencies;
    this.signal = turn.signal;
    this.isReadAtEnd = !delivery.isStream && turn.run === null && policies.every((policy) => policy.look === undefined);
  }

  /**
   * Asks the model and waits for its `finish`; null when the client has cut the pass. Throws the errors of the provider, ModelError when it ends without a
   * `finish`, ProviderContractError for invalid events, and TurnStoppedError when the turn is stopped.
   */
  ask({ provider, providerName }: ModelRoute, question: Turn): Promise<Finish | null> {
    this.dependencies.assembler.nameOrigin({ provider: providerName });
    return this.read(() => askProvider(provider, question, this));
  }

  /**
   * Runs a pass that a policy answers, and waits for its `finish`. Throws the same errors. What follows goes to the upstream that has
   * answered before, unless the pass names another one.
   */
  run(pass: OwnPass, { providerName }: ModelRoute, { parent }: Turn): Promise<Finish | null> {
    this.isOwn = true;
    this.dependencies.assembler.nameOrigin(withoutUpstream(parent?.origin ?? { provider: providerName }));
    return this.read(() => pumpStream(() => pass.generate(), this));
  }

  private read(write: () => Promise<void>): Promise<Finish | null> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.dependencies.turn.whenStopped(this.fail);
      this.dependencies.turn.whenEndedEarly(this.onEarlyEnd);
      if (this.isClosed) return;
      try {
        write().then(this.onEnd, this.fail);
      } catch (error) {
        this.fail(error);
      }
      this.startTimers();
    });
  }

  /** Takes a batch from the provider. */
  write(batch: readonly ModelEvent[]): Promise<void> | undefined {
    // A provider that ignores the closed sink must not block the event loop.
    if (this.isClosed) return nextLoopTurn();
    this.idle?.refresh();
    // Only a sign of life.
    if (batch.length === 0) return undefined;
    this.dependencies.turn.heard(this.dependencies.clock.now());
    try {
      this.tell();
      for (const event of batch) {
        this.look(event, 0);
        if (event.type !== 'finish') continue;
        // A policy may drop it, but no event can follow it.
        this.take(event);
        break;
      }
    } catch (error) {
      this.fail(error);
      return undefined;
    }
    return this.catchingUp === null ? this.settle(batch.length === 1) : this.hold(this.catchingUp);
  }

  /** Takes what the provider tells before its output. It waits for the output, or for the beginning of the stream. */
  head(events: readonly ModelEvent[], isWhole: boolean): void {
    if (this.isClosed) return;
    this.beginning = { events, isWhole };
    if (this.isAccepted) this.tryTo(() => this.tell());
    else if (this.isOverdue && isWhole) this.beginStream();
  }

  /** Records a request to an upstream. */
  attempted(attempt: UpstreamAttempt): void {
    this.dependencies.turn.attempted(attempt);
  }

  /** Passes on what was taken. */
  private settle(isOneEvent: boolean): Promise<void> | undefined {
    // A policy that had nothing to add leaves it to the model to accept or refuse the request.
    if (!this.isOwn || this.finish === null || !isOneEvent) this.begin();
    if (this.finish === null) return this.goOn();
    this.close();
    this.resolve(this.finish);
    return undefined;
  }

  /** Passes an event through the policies, one after another, and the result to the response. */
  private look(event: ModelEvent, index: number): void {
    const policy = this.dependencies.policies[index];
    if (policy === undefined) {
      this.take(event);
      return;
    }
    const seen = policy.look === undefined ? event : policy.look(event);
    if (seen === undefined) return;
    if (!isBatch(seen)) this.look(seen, index + 1);
    else for (const other of seen) this.look(other, index + 1);
  }

  private take(event: ModelEvent): void {
    if (this.finish !== null) return;
    if (this.catchingUp !== null) this.backlog.push(event);
    else if (event.type === 'finish') this.finish = readFinish(event);
    else if (event.type === 'metadata') this.readMetadata(event);
    else if (event.type === 'event') this.passOn(event.event);
    else if (isPlainReasoning(event)) this.takeReasoning(event);
    else this.dependencies.assembler.push(event);
  }

  /** What comes after reasoning waits with it until the keys were read. */
  private takeReasoning(event: PlainReasoning): void {
    const { sealer, assembler } = this.dependencies;
    const reading = sealer?.prepare(event);
    if (reading !== undefined) {
      this.backlog.push(event);
      this.catchingUp = reading.then(this.catchUp).catch(this.fail);
      return;
    }
    const sealed = sealer?.seal(event) ?? null;
    if (sealed !== null) assembler.push(sealed);
    else if (event.opaque !== undefined) assembler.keep(event.opaque);
  }

  private readonly catchUp = (): Promise<void> | undefined => {
    this.catchingUp = null;
    if (this.isClosed) return undefined;
    for (const event of this.backlog.splice(0)) this.take(event);
    return this.settle(false);
  };

  /** Passes on an event that is not part of the response, in its place if the client is not behind. */
  private passOn(event: ForeignEvent): void {
    const { turn, assembler, delivery } = this.dependencies;
    const characters = requireForeign(event);
    const { onEvent, onHeaders } = turn.client;
    const isForClient = !isForeignLimit(event, turn);
    if (isForClient && onEvent === undefined && isLimits(event) && onHeaders?.(toRateLimitHeaders(event)) === true) {
      return;
    }
    if (!isForClient || onEvent === undefined || !assembler.admit(characters)) {
      turn.droppedEvents += 1;
      return;
    }
    if (isLimits(event) && !this.isAccepted) {
      onEvent(event);
      return;
    }
    // What follows `response.created` is no refusal any more, even if this batch fails.
    this.accept();
    void delivery.deliver();
    onEvent(event);
  }

  /** Records the origin of the answer, from which the next turn of the transcript may continue. */
  private readMetadata({ headers, upstreamId, provider, model }: Extract<ModelEvent, { type: 'metadata' }>): void {
    const { turn, assembler } = this.dependencies;
    this.countsReasoning ||= headers?.[REASONING_INCLUDED] !== undefined;
    if (headers !== undefined) turn.client.onHeaders?.(withoutForeignLimits(headers, turn));
    if (provider !== undefined) turn.chose(provider);
    if (upstreamId === undefined && provider === undefined && model === undefined) return;
    const known = assembler.pass.origin;
    assembler.nameOrigin({
      ...known,
      provider: provider ?? known?.provider ?? '',
      ...(model === undefined ? {} : { model }),
      ...(upstreamId === undefined ? {} : { upstreamId }),
    });
  }

  /** Returns no promise in the common case, when the client is not behind. */
  private goOn(): Promise<void> | undefined {
    const catchingUp = this.dependencies.delivery.deliver();
    this.batches += 1;
    if (catchingUp !== undefined) return this.hold(catchingUp);
    return this.batches % BATCHES_PER_LOOP_TURN === 0 ? this.hold(nextLoopTurn()) : undefined;
  }

  private async hold(wait: Promise<unknown> | undefined): Promise<void> {
    if (wait === undefined) return;
    this.held += 1;
    await wait;
    this.held -= 1;
    this.idle?.refresh();
  }

  private startTimers(): void {
    if (this.isClosed) return;
    const { clock, limits, delivery } = this.dependencies;
    const { MODEL_IDLE_TIMEOUT_MS: idleMs, MODEL_ACCEPT_TIMEOUT_MS: acceptMs } = limits;
    if (idleMs > 0) this.idle = clock.schedule(idleMs, this.onSilence);
    if (delivery.isStream && !this.isAccepted) this.acceptance = clock.schedule(acceptMs, this.onPatienceOver);
  }

  private readonly onSilence = (): void => {
    if (this.held === 0) this.dependencies.turn.stop('timeout');
  };

  /**
   * The stream begins even if the model has not answered yet. It has waited for an answer whose head is still to come, which the client
   * could not be told any more, no longer than for a sign of life.
   */
  private readonly onPatienceOver = (): void => {
    if (this.beginning.isWhole || this.isOverdue) {
      this.beginStream();
      return;
    }
    this.isOverdue = true;
    const { clock, limits } = this.dependencies;
    this.acceptance = clock.schedule(limits.SSE_KEEPALIVE_MS, this.onPatienceOver);
  };

  private beginStream(): void {
    this.tryTo(() => this.tell());
    if (this.isClosed) return;
    this.accept();
    // Deferred, so that other timers of the same moment, such as a keepalive, fire before anything is written.
    queueMicrotask(() => void this.hold(this.dependencies.delivery.deliver()));
  }

  /** Passes on what the provider has told, each event once. */
  private tell(): void {
    const { events } = this.beginning;
    if (events === this.told) return;
    const told = new Set(this.told);
    this.told = events;
    for (const event of events) if (!told.has(event)) this.look(event, 0);
  }

  private tryTo(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.fail(error);
    }
  }

  private noteFirstEvent(): void {
    const { turn, clock, observers, reasoning } = this.dependencies;
    turn.firstEventAt = clock.now();
    if (!this.isOwn) reasoning.note(turn.ending.provider ?? '', this.countsReasoning);
    // An earlier attempt has reported it.
    if (turn.run?.isResumed === true) return;
    const provider = turn.ending.provider ?? '';
    observers.firstEvent(() => ({ ...turn.begun, provider, firstEventMs: turn.firstEventAt - turn.startedAt }));
  }

  private begin(): void {
    this.accept();
    if (this.dependencies.turn.firstEventAt === 0) this.noteFirstEvent();
  }

  private accept(): void {
    if (this.isAccepted) return;
    this.isAccepted = true;
    this.acceptance?.cancel();
  }

  /** Steering cuts only text and reasoning: calls, and what a policy writes, come to their end first. */
  private readonly onEarlyEnd = (): void => {
    const { turn, assembler } = this.dependencies;
    if (this.isClosed || (turn.earlyEnd === 'steered' && (this.isOwn || !assembler.writesOnlyText))) return;
    this.close();
    turn.dismissModel();
    this.resolve(null);
  };

  private readonly onEnd = (): void => {
    if (!this.isClosed) this.fail(ModelError.endedEarly());
  };

  private readonly fail = (error: unknown): void => {
    if (this.isClosed) return;
    this.close();
    this.reject(error);
  };

  private close(): void {
    this.isClosed = true;
    this.idle?.cancel();
    this.idle = null;
    this.acceptance?.cancel();
  }
}

function readFinish(event: Finish): Finish {
  const { reason, incompleteReason, serviceTier } = event;
  if (!FINISH_REASONS.has(reason)) throw new ProviderContractError(`unknown finish reason ${reason}`);
  if (incompleteReason !== undefined) requireText(incompleteReason, 'the reason of an incomplete response');
  if (serviceTier !== undefined) requireText(serviceTier, 'a service tier');
  return toFinish(event);
}
