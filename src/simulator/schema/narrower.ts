import type { SeededRandom } from '../seeded-random.js';
import type { NarrowSchema } from './fill-schema.js';
import type { SchemaFlattener } from './flatten-schema.js';

/** What narrows the parts of a value for the parts around them. */
export interface Narrower {
  readonly flattener: SchemaFlattener;
  readonly random: SeededRandom;
  /** Throws DeadEnd where nothing fits. */
  narrow(schema: unknown, depth: number): NarrowSchema;
  /** What `narrow` gives; undefined where that is a dead end and other ways are still open. */
  tryToNarrow(schema: unknown, depth: number): NarrowSchema | undefined;
  /** What `make` gives; undefined where that is a dead end and other ways are still open. */
  attempt<T>(make: () => T): T | undefined;
  /** Whether only what has to be there is made at this depth. */
  isShallow(depth: number): boolean;
  /** Whether something is made at this depth that need not be there. */
  takesOptional(depth: number): boolean;
}
