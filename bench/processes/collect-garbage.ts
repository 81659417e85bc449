import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Frees what is not in use. Only a flag that is set at run time leaves the process as it would be without the benchmark. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What the first one finds out to be dead may have held something that only the second one finds.
  collect();
  collect();
}
