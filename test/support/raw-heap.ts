import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What a process holds on to once everything it does not need has been collected. */
export interface Holdings {
  readonly heapBytes: number;
  /** Sockets and timers that are in use, by the name Node gives them. */
  readonly resources: Readonly<Record<string, number>>;
}

/** Collects garbage and counts what is left. */
export async function takeStock(): Promise<Holdings> {
  // What was closed in this turn of the event loop is let go in the next ones.
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  const resources: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    if (/TCP|Timeout/.test(name)) resources[name] = (resources[name] ?? 0) + 1;
  }
  return { heapBytes: process.memoryUsage().heapUsed, resources };
}

/**
 * How much more memory than now the process holds whenever it is asked, bytes of the heap and of buffers. Garbage is collected before more
 * than `limit` is found.
 */
export function watchMemory(limit: number): () => number {
  collectGarbage();
  const before = heldMemory();
  return () => {
    const more = heldMemory() - before;
    if (more < limit) return more;
    collectGarbage();
    return heldMemory() - before;
  };
}

function heldMemory(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
