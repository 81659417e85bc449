import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ConversationGate } from '../../context/index.js';
import type { ApiError, Usage } from '../../protocol/index.js';
import { type HeldLock, NO_LOCK } from '../../state/locks/index.js';
import { SessionGate } from '../../resources/sessions/index.js';
import { Clock, isPromise, type MaybePromise } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import { Admission, type Lease } from './admission.js';
import type { AdmittedTurn } from './admit.js';
import type { ResolvedTurn } from './resolve.js';
import { RunningTurns } from './running-turns.js';
import { TurnEstimate } from './turn-estimate.js';
import { type TurnRecord, TurnObservers } from './turn-observer.js';

/**
 * How long a background turn keeps its place and waits for a lock before it goes back to its queue, ms, and the share of the
 * places that may wait so. Turns of one conversation that were created together follow each other without a pause.
 */
const BACKGROUND_LOCK_WAIT_MS = 2000;
const BACKGROUND_WAITING_SHARE = 1 / 4;

/** Begins and ends turns, and queues those in the background: admission, locks, the list of running turns, and observers. */
@Injectable()
export class Entrance {
  private readonly logger = new Logger('Entrance');
  /** Background turns that wait for a lock. */
  private waiting = 0;

  constructor(
    private readonly admission: Admission,
    private readonly sessions: SessionGate,
    private readonly conversations: ConversationGate,
    private readonly runningTurns: RunningTurns,
    private readonly observers: TurnObservers,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Acquires the lease of a turn and the lock of its conversation or session; undefined when no waiting was needed. From now on the
   * turn is stopped after MAX_TURN_MS. Throws the refusals of the Admission and the session, and 503 during shutdown.
   * Always call `leave` afterwards.
   */
  enter(turn: ActiveTurn): Promise<void> | undefined {
    const { MAX_TURN_MS: limitMs } = this.environment;
    turn.startedAt = turn.run?.begunAt ?? this.clock.now();
    if (limitMs > 0) turn.timeLimit = this.clock.schedule(limitMs, () => turn.stop('time_limit'));
    // A background turn has begun when it was created.
    if (turn.run === null) this.observers.begun(() => turn.begun);
    this.runningTurns.begin(turn);
    turn.throwIfStopped();
    const lease = this.admission.acquire(turn.admitted, new TurnEstimate(turn.admitted), turn.signal);
    if (isPromise(lease) || mayLock(turn.admitted)) return this.wait(turn, lease);
    this.hold(turn, lease);
    return undefined;
  }

  /** Has the lease reserve what the turn continues. Throws the refusals of the Admission. */
  reserve(turn: ActiveTurn, { question }: ResolvedTurn): Promise<void> | undefined {
    const { lease, admitted } = turn;
    if (lease?.reserve === undefined) return undefined;
    const { contextTokens } = new TurnEstimate(admitted, question);
    const reserved = contextTokens === 0 ? undefined : lease.reserve(contextTokens);
    if (!isPromise(reserved)) {
      this.tell(turn, reserved ?? lease.headers);
      return undefined;
    }
    // Waited for also when the turn is stopped: the lease knows what it has reserved when it is released.
    return Promise.resolve(reserved).then((headers) => {
      turn.throwIfStopped();
      this.tell(turn, headers ?? lease.headers);
    });
  }

  /** Begins the creation of a background turn, which the worker runs as a turn of its own. Throws 503 during shutdown. */
  openQueued(turn: ActiveTurn): void {
    turn.startedAt = this.clock.now();
    this.runningTurns.refuseWhenClosed();
  }

  /** Returns a background turn with what the Admission has counted for it. Throws the refusals of the session and the Admission. */
  async queue({ admitted, client }: ActiveTurn, { question }: ResolvedTurn): Promise<AdmittedTurn> {
    const { session, settings, caller } = admitted;
    if (session !== null && settings.store)
      await this.sessions.refuseWhenFull(caller.tenant, session.id, session.param);
    const queued = await this.admission.queue?.(admitted, new TurnEstimate(admitted, question));
    if (queued?.headers !== undefined) client.onHeaders?.(queued.headers);
    return queued?.receipt === undefined ? admitted : { ...admitted, receipt: queued.receipt };
  }

  /** Tells the Admission of a counted turn that could not be stored. */
  async dequeue(admitted: AdmittedTurn): Promise<void> {
    await this.admission.dequeue?.(admitted, null);
  }

  /** Notifies the observers of a background turn that is stored. */
  queued(turn: ActiveTurn): void {
    this.observers.begun(() => turn.begun);
  }

  /** Notifies the observers of an error that a client gets instead of a response. */
  refuse({ admitted, run }: ActiveTurn, refusal: ApiError): void {
    // The client of a background turn has its answer.
    if (run === null) this.observers.refused(admitted.caller, refusal);
  }

  /** Stops remaining work, releases what the turn holds and notifies the observers. Repeated calls do nothing. */
  leave(turn: ActiveTurn): void {
    if (!turn.finish()) return;
    turn.timeLimit?.cancel();
    const { lease, startedAt, firstEventAt, droppedEvents, longestGapMs, batches } = turn;
    const { attempts, toolRuns, ending, isUsageStored } = turn;
    this.runningTurns.end(turn);
    void turn.releaseLock();
    if (lease !== null) {
      if (ending.status === 'refused') this.tell(turn, lease.headers);
      // The process that goes on with a background turn counts the tokens so far, too.
      if (goesOn(turn)) this.release(lease, null, 'disconnected');
      else this.release(lease, ending.usage, ending.status);
    }
    // The process that ends a background response reports the end: it may be another one.
    if (turn.run !== null && !turn.hasEnded) return;
    this.observers.settled({
      ...turn.begun,
      provider: ending.provider,
      status: ending.status,
      usage: ending.usage,
      response: ending.response,
      errorCode: ending.errorCode,
      droppedEvents,
      isUsageStored,
      longestGapMs,
      batches,
      attempts,
      toolRuns,
      firstEventMs: firstEventAt === 0 ? null : firstEventAt - startedAt,
      durationMs: this.clock.now() - startedAt,
    });
  }

  private async wait(turn: ActiveTurn, lease: MaybePromise<Lease>): Promise<void> {
    this.hold(
      turn,
      isPromise(lease) ? await acquire(turn, lease, (late) => this.release(late, null, 'refused')) : lease,
    );
    turn.lock = await acquire(turn, this.takeLock(turn), (late) => void late.release());
  }

  /**
   * Takes the lock of the conversation or, without one, of the session that the turn names. The lock of a conversation alone
   * does not put the turns of its session in order: those of other conversations may run there at the same time.
   */
  private async takeLock(turn: ActiveTurn): Promise<HeldLock> {
    const { run, admitted } = turn;
    const { session, caller, settings } = admitted;
    const held = await (run === null ? this.lock(turn, null) : this.lockInBackground(turn));
    // A background response has its place in the session since it was created.
    if (session === null || !settings.store || run !== null) return held;
    try {
      // Checked under the lock, so that two turns cannot both take the last place.
      await this.sessions.refuseWhenFull(caller.tenant, session.id, session.param);
    } catch (error) {
      await held.release();
      throw error;
    }
    return held;
  }

  private async lockInBackground(turn: ActiveTurn): Promise<HeldLock> {
    const mayWait = this.waiting + 1 <= this.environment.BACKGROUND_MAX_RUNNING * BACKGROUND_WAITING_SHARE;
    this.waiting += 1;
    try {
      return await this.lock(turn, mayWait ? BACKGROUND_LOCK_WAIT_MS : 0);
    } finally {
      this.waiting -= 1;
    }
  }

  /** `waitMs`: the longest wait; null for that of clients. */
  private async lock(turn: ActiveTurn, waitMs: number | null): Promise<HeldLock> {
    const { client, admitted, signal } = turn;
    const { session, caller, settings } = admitted;
    const onLost = (): void => turn.stop('lock_lost');
    if (settings.conversation != null && locksConversation(admitted)) {
      const { id } = settings.conversation;
      const known = client.continuations?.findConversation(id);
      const waiter = { known, waitMs: waitMs ?? 0, signal, onLost };
      return (turn.conversation = await this.conversations.open(caller.tenant, id, waiter));
    }
    if (session?.locks !== true) return NO_LOCK;
    const limit = waitMs ?? this.environment.SESSION_LOCK_TIMEOUT_MS;
    return this.sessions.hold(caller.tenant, session.id, { param: session.param, waitMs: limit, signal, onLost });
  }

  private hold(turn: ActiveTurn, lease: Lease): void {
    turn.lease = lease;
    // Otherwise its headers may change: the client keeps the first ones.
    if (lease.reserve === undefined) this.tell(turn, lease.headers);
  }

  private tell(turn: ActiveTurn, headers: Lease['headers']): void {
    if (headers !== undefined) turn.client.onHeaders?.(headers);
  }

  private release(lease: Lease, usage: Usage | null, status: TurnRecord['status']): void {
    const onError = (error: unknown): void => this.logger.error('the lease of a turn could not be released', error);
    try {
      const released = lease.release(usage, status);
      if (isPromise(released)) Promise.resolve(released).catch(onError);
    } catch (error) {
      onError(error);
    }
  }
}

function mayLock(turn: AdmittedTurn): boolean {
  return turn.session !== null || locksConversation(turn);
}

function locksConversation({ settings, onlyReadsConversation }: AdmittedTurn): boolean {
  return settings.conversation != null && onlyReadsConversation !== true;
}

function goesOn({ stopReason }: ActiveTurn): boolean {
  return stopReason === 'hand_over' || stopReason === 'lost';
}

/** Waits for a resource until the turn is stopped; a late one is released at once. */
async function acquire<T>(turn: ActiveTurn, pending: Promise<T>, giveBack: (late: T) => void): Promise<T> {
  try {
    return await turn.until(pending);
  } catch (error) {
    pending.then(giveBack, () => undefined);
    throw error;
  }
}
