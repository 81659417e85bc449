import type { Clock } from './clock.js';

/**
 * What arrives within this time belongs to the same press of Ctrl+C, ms: a terminal signals all processes, and npm and a supervisor each
 * pass theirs on.
 */
const SAME_PRESS_MS = 500;

/** What presses of Ctrl+C do. */
export interface InterruptActions {
  readonly first: () => void;
  readonly again: () => void;
}

/** Tells a second press of Ctrl+C from the copies of the first one. */
export class Interrupts {
  private firstAt: number | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly actions: InterruptActions,
  ) {}

  /** A SIGINT has arrived. */
  arrived(): void {
    if (this.firstAt === null) {
      this.firstAt = this.clock.now();
      this.actions.first();
    } else if (this.clock.now() - this.firstAt >= SAME_PRESS_MS) {
      this.actions.again();
    }
  }
}
