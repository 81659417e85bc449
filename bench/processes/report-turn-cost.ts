/**
 * Loaded before a program with `--import`. Counts, on request, the promises that the process creates or the bytes that it
 * allocates on its heap. Not both at once, because the hooks that count promises allocate.
 */
import { createHook, executionAsyncId, executionAsyncResource } from 'node:async_hooks';
import { GCProfiler } from 'node:v8';

import { collectGarbage } from './collect-garbage.ts';
import type { CountAnswer, CountQuestion } from './messages.ts';

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

process.on('message', (message: CountQuestion | { readonly type: 'usage' }) => {
  if (message.type !== 'count') return;
  if (message.step === 'begin') {
    begin(message.what);
    answer(0);
    return;
  }
  // Includes work that the last turn left for this turn of the event loop and the next one.
  setImmediate(() => setImmediate(() => answer(end(message.what))));
});

function begin(what: CountQuestion['what']): void {
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
}

function end(what: CountQuestion['what']): number | null {
  if (what === 'promises') {
    hook.disable();
    return promises;
  }
  const bytes = process.memoryUsage().heapUsed - bytesBefore;
  return profiler.stop().statistics.length === 0 ? bytes : null;
}

function answer(count: number | null): void {
  const message: CountAnswer = { type: 'count', count };
  process.send?.(message);
}
