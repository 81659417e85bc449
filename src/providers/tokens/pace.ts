/** Work between two turns of the event loop, in characters of ordinary text: about 4 ms. */
const SLICE_COST = 64 * 1024;

/** The pace of all counts of the process: after each slice of work the event loop has a turn, and then the next count. */
let spent = 0;
const waiting: (() => void)[] = [];

/** Notes work, in characters of ordinary text. Returns a promise when the caller has to wait before it does more. */
export function spend(cost: number): Promise<void> | undefined {
  spent += cost;
  if (spent < SLICE_COST) return undefined;
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(wakeNext);
  });
}

function wakeNext(): void {
  spent = 0;
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(wakeNext);
}
