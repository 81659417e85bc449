import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects garbage. Sets the flag at run time, so that the process otherwise runs as without the benchmark. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The second collection frees objects that were reachable from those of the first.
  collect();
  collect();
}
