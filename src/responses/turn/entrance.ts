import { Injectable, Logger } from '@nestjs/common';

import { type HeldSession, NO_SESSION, SessionGate } from '../../sessions/index.js';
import { Clock, isPromise, type MaybePromise } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import { Admission, type Release } from './admission.js';
import { RunningTurns } from './running-turns.js';
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
   * Gives a turn its place, and its session where it names one; undefined when that took no waiting. Throws what the admission
   * and the session refuse with, and 503 when the process is shutting down. Call `leave` in every case.
   */
  enter(turn: ActiveTurn): Promise<void> | undefined {
    turn.startedAt = this.clock.now();
    this.runningTurns.begin(turn);
    const place = this.admission.acquire(turn.admitted, turn.signal);
    if (isPromise(place) || turn.admitted.session !== null) return this.wait(turn, place);
    turn.place = place;
    return undefined;
  }

  /** Stops what may still run for the turn, gives back what it holds and tells the observers. Once; later calls do nothing. */
  leave(turn: ActiveTurn): void {
    if (!turn.finish()) return;
    const { admitted, place, startedAt, ending } = turn;
    this.runningTurns.end(turn);
    void turn.leaveSession();
    if (place !== null) this.giveBack(place);
    this.observers.settled({
      responseId: admitted.responseId,
      caller: admitted.caller,
      model: admitted.settings.model,
      durationMs: this.clock.now() - startedAt,
      ...ending,
    });
  }

  private async wait(turn: ActiveTurn, place: MaybePromise<Release>): Promise<void> {
    turn.place = isPromise(place) ? await acquire(turn, place, (late) => this.giveBack(late)) : place;
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

  private giveBack(release: Release): void {
    const onError = (error: unknown): void => this.logger.error('a place could not be given back', error);
    try {
      const released = release();
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
