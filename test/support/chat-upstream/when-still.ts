import { setImmediate as nextLoopTurn } from 'node:timers/promises';

/** More than it takes to hand a piece from socket to socket within this process. */
const TURNS = 200;

/** Resolves when a number has not changed for many turns of the event loop: nothing is on the way any more. */
export async function whenStill(read: () => number): Promise<void> {
  for (let still = 0, last = read(); still < TURNS; still += 1) {
    await nextLoopTurn();
    if (read() !== last) still = 0;
    last = read();
  }
}
