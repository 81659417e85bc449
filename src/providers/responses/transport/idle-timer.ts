import type { Clock, Timer } from '../../../time/index.js';

/** Notices when an answer falls silent. */
export class IdleTimer {
  private readonly timer: Timer;
  private isPaused = false;

  /** Calls `onIdle` after `idleMs` without `touch`. */
  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.timer = clock.schedule(idleMs, () => {
      if (!this.isPaused) onIdle();
    });
  }

  /** Something arrived. */
  touch(): void {
    this.timer.refresh();
  }

  /** Stops the time while we read nothing ourselves. */
  pause(): void {
    this.isPaused = true;
  }

  /** Starts the full time again. */
  resume(): void {
    this.isPaused = false;
    this.timer.refresh();
  }

  end(): void {
    this.timer.cancel();
  }
}
