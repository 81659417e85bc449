import * as fc from 'fast-check';

import type { Tenant } from '../../src/access/index.js';
import type { StateBackend } from '../../src/state/index.js';
import { append, START } from '../../src/testing/state/records.js';

/** A response of a made-up forest. */
export interface Planted {
  readonly id: string;
  readonly parentId: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly isDeleted: boolean;
}

/** A forest, parents first, in which nothing but the order of saving follows from the ids; few seconds, so that many are alike. */
export const forests: fc.Arbitrary<readonly Planted[]> = fc
  .uniqueArray(
    fc.string({ unit: fc.constantFrom('a', 'b', 'x', 'Y', 'Z', '_', '0', '9'), minLength: 1, maxLength: 4 }),
    { maxLength: 25 },
  )
  .chain((ids) =>
    fc.tuple(
      ...ids.map((id, index) =>
        fc.record({
          id: fc.constant(id),
          parentId: index === 0 ? fc.constant(null) : fc.option(fc.constantFrom(...ids.slice(0, index)), { freq: 5 }),
          createdAt: fc.integer({ min: START / 1000, max: START / 1000 + 3 }),
          isDeleted: fc.boolean().map((isLucky) => isLucky && index % 3 === 1),
        }),
      ),
    ),
  );

/** Saves a forest for a tenant, all in one session, and deletes what is deleted in it. */
export async function plant(backend: StateBackend, tenant: Tenant, forest: readonly Planted[]): Promise<void> {
  for (const { id, parentId, createdAt } of forest) {
    await append(backend.responses, tenant, id, { parentId, createdAt, sessionId: 'session' });
  }
  for (const { id, isDeleted } of forest) {
    if (isDeleted) await backend.responses.delete(tenant, id, { cascade: false });
  }
}

/** In the order of lists: by creation, then by id. */
export function inOrder(forest: readonly Planted[]): readonly Planted[] {
  return forest.toSorted((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1));
}
