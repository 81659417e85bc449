import { Injectable, Logger } from '@nestjs/common';

import { Clock } from '../time/index.js';
import { Admission, type Release } from './admission.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { LiveTurn } from './live-turn.js';
import { RunningTurn, RunningTurns } from './running-turns.js';
import { TurnObservers } from './turn-observer.js';
import { untilAborted } from './until-aborted.js';

/** Lets turns in and sees them out: admission, the list of running turns, and the observers. */
@Injectable()
export class TurnLifecycle {
  private readonly logger = new Logger(TurnLifecycle.name);

  constructor(
    private readonly admission: Admission,
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
      leave: (ending, release) => {
        this.runningTurns.end(running);
        void this.giveBack(release);
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

  private async enter(turn: AdmittedTurn, running: RunningTurn): Promise<Release> {
    this.runningTurns.begin(running);
    const place = this.admission.acquire(turn, running.signal);
    try {
      return await untilAborted(place, running.signal);
    } catch (error) {
      // A place that comes too late is given back at once.
      void place.then(
        (release) => this.giveBack(release),
        () => undefined,
      );
      throw error;
    }
  }

  private async giveBack(release: Release): Promise<void> {
    try {
      await release();
    } catch (error) {
      this.logger.error('a place could not be given back', error);
    }
  }
}
