// What a start loads of Node, before the flags are set: V8 takes what was compiled with Node only where no flag differs.
// `node:http` is left out: its import would load Node's client of HTTP as well.
import 'node:assert';
import 'node:cluster';
import 'node:dns';
import 'node:fs/promises';
import 'node:https';
import { enableCompileCache, flushCompileCache } from 'node:module';
import 'node:perf_hooks';
import 'node:timers/promises';
import 'node:tty';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import 'node:vm';
import 'node:worker_threads';
import 'node:zlib';

/** When a start is over at the latest, ms: what it has compiled is written for the next one, also if the process is killed later. */
const STARTED_MS = 5000;

/**
 * V8 puts objects that have often lived long into the old generation at once, with all that they refer to. The first slow turns would
 * decide that for every later one: all turns would stay until the next full collection, at a third more CPU and twice the memory.
 */
setFlagsFromString('--no-allocation-site-pretenuring');
// Twice of what V8 inlines by default: a turn passes many small functions.
setFlagsFromString('--max-inlined-bytecode-size=920');
setFlagsFromString('--max-inlined-bytecode-size-cumulative=1840');
// What Maglev compiles with is memory that stays: 30 MB and more. In its place TurboFan compiles functions earlier.
setFlagsFromString('--no-maglev');
setFlagsFromString('--invocation-count-for-turbofan=800');
// A process that has been idle for 8 s is still collected, but keeps its hidden classes. Without them V8 drops what it has compiled, and the
// next thousand turns take two to five times as much.
setFlagsFromString('--no-memory-reducer-favors-memory');
beginStart();

/**
 * Modules that load live on, and V8 takes them for a load that needs a larger young generation: 10 MB that an idle service keeps. What a
 * start calls often is not called again: to optimize it would cost 15 MB, and a twentieth of the CPU.
 */
function beginStart(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--no-turbofan');
}

/** Lets the young generation grow again, and functions be compiled, as far as the load asks for it. */
export function endStart(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
  setFlagsFromString('--turbofan');
}

/** Does what V8 must do with the flags of a start: of what is compiled, it takes only what was kept with the same ones. */
export function asAtStart<T>(work: () => T): T {
  beginStart();
  try {
    return work();
  } finally {
    endStart();
  }
}

// Not in the directory for temporary files, where another user could prepare it. Without effect where it cannot be written, and
// where NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE say otherwise.
enableCompileCache(fileURLToPath(new URL('../.cache/compiled', import.meta.url)));
setTimeout(() => {
  flushCompileCache();
  endStart();
}, STARTED_MS).unref();
