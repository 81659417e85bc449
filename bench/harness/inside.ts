/**
 * Loaded before a measured program with `--import`: reports what only the process itself knows, on request. Exits with the benchmark,
 * which may be killed before it can end the process.
 */
import { createHook, executionAsyncId, executionAsyncResource } from 'node:async_hooks';
import { pathToFileURL } from 'node:url';
import { GCProfiler, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { Runners } from '../load/main.ts';

/** The answer to each question. */
export interface Answers {
  /** Since the start: CPU time of all threads in user and kernel mode, and round trips to the database. */
  readonly usage: { readonly cpuMicroseconds: number; readonly roundTrips: number };
  /** After a garbage collection. The heap includes external memory. */
  readonly memory: { readonly rssBytes: number; readonly heapBytes: number };
  /** Null if memory was freed meanwhile, so that the number of bytes is unknown. */
  readonly count: { readonly count: number | null };
}

/** Begins to count created promises or bytes allocated on the heap, or ends it. Not both: the hooks for promises allocate. */
export interface CountQuestion {
  readonly type: 'count';
  readonly step: 'begin' | 'end';
  readonly what: 'promises' | 'bytes';
}

/** Asks the program to begin once more, beside itself and with these variables only, as it does in a proof. Nothing is answered. */
export interface Repetition {
  readonly type: 'repeat';
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** What the program counts itself. */
export const counted = { roundTrips: 0 };

let begun = 1;

process.on('message', (message: CountQuestion | Repetition | { readonly type: 'usage' | 'memory' | keyof Runners }) => {
  if (message.type === 'usage') {
    const { user, system } = process.cpuUsage();
    answer({ cpuMicroseconds: user + system, ...counted });
  } else if (message.type === 'memory') {
    collectGarbage();
    const { rss, heapUsed, external } = process.memoryUsage();
    answer({ rssBytes: rss, heapBytes: heapUsed + external });
  } else if (message.type === 'count') {
    count(message);
  } else if (message.type === 'repeat') {
    process.env = { ...message.variables };
    // Each of them waits for signals.
    process.setMaxListeners(0);
    // Node evaluates a module once for each URL, and what that imports once for all.
    void import(`${pathToFileURL(process.argv[1] ?? '').href}?${(begun += 1)}`);
  }
});
process.once('disconnect', () => process.exit());

function answer(message: Answers[keyof Answers]): void {
  process.send?.(message);
}

/** Sets the flag at run time, so that the process otherwise runs as without the benchmark. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The second collection frees objects that were reachable from those of the first.
  collect();
  collect();
}

/** What the callback of a timer is executed for; Node does not export it. */
const Timeout = setTimeout(() => undefined, 0).constructor;

let promises = 0;
/** Those that the callbacks of timers make, and what follows from these: when a timer is due depends on the machine, not on a turn. */
const ofTimers = new Set<number>();
const hook = createHook({
  init: (id, type) => {
    if (type !== 'PROMISE') return;
    if (ofTimers.has(executionAsyncId()) || executionAsyncResource() instanceof Timeout) ofTimers.add(id);
    else promises += 1;
  },
});

let bytesBefore = 0;
let profiler = new GCProfiler();

function count({ step, what }: CountQuestion): void {
  if (step === 'begin') {
    if (what === 'promises') {
      promises = 0;
      ofTimers.clear();
      hook.enable();
    } else {
      profiler = new GCProfiler();
      collectGarbage();
      profiler.start();
      bytesBefore = process.memoryUsage().heapUsed;
    }
    answer({ count: 0 });
    return;
  }
  // Includes work that the last turn left for this turn of the event loop and the next one.
  setImmediate(() => setImmediate(() => answer({ count: what === 'promises' ? toPromises() : toBytes() })));
}

function toPromises(): number {
  hook.disable();
  return promises;
}

function toBytes(): number | null {
  const bytes = process.memoryUsage().heapUsed - bytesBefore;
  return profiler.stop().statistics.length === 0 ? bytes : null;
}
