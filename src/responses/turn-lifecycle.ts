import { Injectable, Logger } from '@nestjs/common';

import { type HeldSession, NO_SESSION, SessionGate } from '../sessions/index.js';
import { Clock } from '../time/index.js';
import { Admission, type Release } from './admission.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { type Entrance, LiveTurn } from './live-turn.js';
import { RunningTurn, RunningTurns } from './running-turns.js';
import { TurnObservers } from './turn-observer.js';

/** Lets turns in and sees them out: admission, sessions, the list of running turns, and the observers. */
@Injectable()
export class TurnLifecycle {
  private readonly logger = new Logger(TurnLifecycle.name);

  constructor(
    private readonly admission: Admission,
    private readonly sessions: SessionGate,
    private readonly runningTurns: RunningTurns,
    private readonly observers: TurnObservers,
    private readonly clock: Clock,
  ) {}

  /** A turn that ends when its transport's signal aborts. It is not let in yet: call `enter`, and `settle` in every case. */
  open(turn: AdmittedTurn, transport: AbortSignal): LiveTurn {
    const startedAt = this.clock.now();
    const running = new RunningTurn(turn.responseId);
    return new LiveTurn(running, transport, {
      enter: () => this.enter(turn, running),
      leave: (ending, entrance) => {
        this.runningTurns.end(running);
        if (entrance !== null) void this.giveBack(entrance);
        this.observers.settled({
          responseId: turn.responseId,
          caller: turn.caller,
          model: turn.settings.model,
          durationMs: this.clock.now() - startedAt,
          ...ending,
        });
      },
    });
  }

  private async enter(turn: AdmittedTurn, running: RunningTurn): Promise<Entrance> {
    this.runningTurns.begin(running);
    const { signal } = running;
    const release = await acquire(running, this.admission.acquire(turn, signal), (late) => this.leavePlace(late));
    try {
      const entering = this.enterSession(turn, running);
      const session = await acquire(running, entering, (late) => late.release());
      return { release, session };
    } catch (error) {
      void this.leavePlace(release);
      throw error;
    }
  }

  private async enterSession({ session, caller, settings }: AdmittedTurn, running: RunningTurn): Promise<HeldSession> {
    if (session === null) return NO_SESSION;
    const { param } = session;
    const waiter = { param, signal: running.signal, onLost: () => running.stop('session_lost') };
    const held = session.locks ? await this.sessions.hold(caller.owner, session.id, waiter) : NO_SESSION;
    try {
      // Under the lock, so that two turns cannot both find the last place.
      if (settings.store) await this.sessions.refuseWhenFull(caller.owner, session.id, param);
    } catch (error) {
      await held.release();
      throw error;
    }
    return held;
  }

  private async giveBack({ release, session }: Entrance): Promise<void> {
    await Promise.all([session.release(), this.leavePlace(release)]);
  }

  private async leavePlace(release: Release): Promise<void> {
    try {
      await release();
    } catch (error) {
      this.logger.error('a place could not be given back', error);
    }
  }
}

/** Waits for something until the turn is to stop; what comes too late is given back at once. */
async function acquire<T>(turn: RunningTurn, pending: Promise<T>, giveBack: (late: T) => Promise<void>): Promise<T> {
  try {
    return await turn.until(pending);
  } catch (error) {
    void pending.then(giveBack, () => undefined);
    throw error;
  }
}
