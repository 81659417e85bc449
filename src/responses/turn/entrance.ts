import { Injectable, Logger } from '@nestjs/common';

import type { Usage } from '../../protocol/index.js';
import { type HeldSession, NO_SESSION, SessionGate } from '../../sessions/index.js';
import { Clock, isPromise, type MaybePromise } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import { Admission, type Lease } from './admission.js';
import { RunningTurns } from './running-turns.js';
import { TurnEstimate } from './turn-estimate.js';
import { TurnObservers } from './turn-observer.js';

/** Lets turns in and sees them out: admission, sessions, the list of running turns, and the observers. */
@Injectable()
export class Entrance {
  private readonly logger = new Logger(Entrance.name);

  constructor(
    private readonly admission: Admission,
    private readonly sessions: SessionGate,
    private readonly runningTurns: RunningTurns,
    private readonly observers: TurnObservers,
    private readonly clock: Clock,
  ) {}

  /**
   * Gives a turn its lease, and its session where it names one; undefined when that took no waiting. Throws what the admission
   * and the session refuse with, and 503 when the process is shutting down. Call `leave` in every case.
   */
  enter(turn: ActiveTurn): Promise<void> | undefined {
    turn.startedAt = this.clock.now();
    this.runningTurns.begin(turn);
    this.observers.begun(() => turn.begun);
    const lease = this.admission.acquire(turn.admitted, new TurnEstimate(turn.admitted), turn.signal);
    if (isPromise(lease) || turn.admitted.session !== null) return this.wait(turn, lease);
    this.hold(turn, lease);
    return undefined;
  }

  /** Stops what may still run for the turn, gives back what it holds and tells the observers. Once; later calls do nothing. */
  leave(turn: ActiveTurn): void {
    if (!turn.finish()) return;
    const { lease, startedAt, firstEventAt, ending } = turn;
    this.runningTurns.end(turn);
    void turn.leaveSession();
    if (lease !== null) this.release(lease, ending.usage);
    this.observers.settled({
      ...turn.begun,
      ...ending,
      firstEventMs: firstEventAt === 0 ? null : firstEventAt - startedAt,
      durationMs: this.clock.now() - startedAt,
    });
  }

  private async wait(turn: ActiveTurn, lease: MaybePromise<Lease>): Promise<void> {
    this.hold(turn, isPromise(lease) ? await acquire(turn, lease, (late) => this.release(late, null)) : lease);
    turn.session = await acquire(turn, this.enterSession(turn), (late) => void late.release());
  }

  private async enterSession(turn: ActiveTurn): Promise<HeldSession> {
    const { session, caller, settings } = turn.admitted;
    if (session === null) return NO_SESSION;
    const { param } = session;
    const waiter = { param, signal: turn.signal, onLost: () => turn.stop('session_lost') };
    const held = session.locks ? await this.sessions.hold(caller.tenant, session.id, waiter) : NO_SESSION;
    try {
      // Under the lock, so that two turns cannot both find the last place.
      if (settings.store) await this.sessions.refuseWhenFull(caller.tenant, session.id, param);
    } catch (error) {
      await held.release();
      throw error;
    }
    return held;
  }

  private hold(turn: ActiveTurn, lease: Lease): void {
    turn.lease = lease;
    if (lease.headers !== undefined) turn.client.onHeaders?.(lease.headers);
  }

  private release(lease: Lease, usage: Usage | null): void {
    const onError = (error: unknown): void => this.logger.error('the lease of a turn could not be released', error);
    try {
      const released = lease.release(usage);
      if (isPromise(released)) released.catch(onError);
    } catch (error) {
      onError(error);
    }
  }
}

/** Waits for something until the turn is to stop; what comes too late is given back at once. */
async function acquire<T>(turn: ActiveTurn, pending: Promise<T>, giveBack: (late: T) => void): Promise<T> {
  try {
    return await turn.until(pending);
  } catch (error) {
    pending.then(giveBack, () => undefined);
    throw error;
  }
}
