import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import { SessionFullError, type StateBackend } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { newTenant, recordOf, START, TTL_MS } from '../records.js';
import { NO_BOUNDS, queuedOf } from '../runs.js';
import type { TestedState } from '../tested-state.js';

const LIMITED = { sessionId: 'full', sessionLimit: 5 };

/** A session takes no more responses than its limit, whoever saves at once. */
export const SESSION_LIMIT = part('sessions', 'the limit of a session', ({ openOnce, it, beforeEach }) => {
  let opened: TestedState;
  let replicas: readonly StateBackend[];
  let tenant: Tenant;

  openOnce(async (state) => {
    opened = state;
    const other = await opened.replica?.();
    replicas = [opened.backend, ...(other === undefined ? [] : [other])];
  });
  beforeEach(() => {
    tenant = newTenant();
  });

  const replicaOf = (index: number): StateBackend => replicas[index % replicas.length] as StateBackend;
  const save = async (id: string, parts: object = {}, index = 0): Promise<void> => {
    await replicaOf(index).responses.save(tenant, recordOf(id, { ...LIMITED, ...parts }));
  };
  const create = (id: string, index = 0): Promise<void> =>
    replicaOf(index).runs.create(tenant, { ...queuedOf(id), ...LIMITED }, NO_BOUNDS);
  const members = async (): Promise<readonly string[]> => {
    const page = { limit: 100, order: 'asc' } as const;
    return (await opened.backend.graph.list(tenant, { sessionId: 'full' }, page)).data.map(({ id }) => id);
  };
  const outcomes = async (all: readonly Promise<void>[]): Promise<readonly unknown[]> =>
    (await Promise.allSettled(all)).map((result) =>
      result.status === 'fulfilled' ? 'stored' : (result.reason as unknown),
    );

  for (const [title, store] of [
    ['saved', (id: string, index: number) => save(id, {}, index)],
    ['created', (id: string, index: number) => create(id, index)],
    ['saved or created', (id: string, index: number) => (index % 4 < 2 ? save(id, {}, index) : create(id, index))],
    [
      'saved far from their session',
      (id: string, index: number) => save(id, { parentId: 'elsewhere', inherited: [] }, index),
    ],
  ] as const) {
    it(`the limit of a session is held to by ten that are ${title} at once, by all replicas`, async () => {
      await replicaOf(0).responses.save(tenant, recordOf('elsewhere', { sessionId: 'elsewhere' }));
      const all = await outcomes(Array.from({ length: 10 }, (_, index) => store(`r${index}`, index)));
      assert.equal(all.filter((outcome) => outcome === 'stored').length, 5);
      assert.equal(all.filter((outcome) => outcome instanceof SessionFullError).length, 5);
      assert.equal((await members()).length, 5);
      await save('beside', { sessionId: 'beside' });
      await save('unlimited', { sessionLimit: undefined });
      assert.equal((await members()).length, 6);
    });
  }

  it('the limit of a session counts a response once that is saved again', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await save(id);
    await save('e');
    await assert.rejects(save('f'), SessionFullError);
  });

  it('the limit of a session has room for what has expired, was deleted, or belongs to another tenant', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await save(id);
    await save('short', { expiresAt: START + TTL_MS / 2 });
    await assert.rejects(save('f'), SessionFullError);
    await replicaOf(0).responses.save(newTenant(), recordOf('f', LIMITED));
    await replicaOf(0).responses.delete(tenant, 'a', { cascade: false });
    await save('f');
    await assert.rejects(save('g'), SessionFullError);
    opened.clock.advance(TTL_MS / 2);
    await save('g', { expiresAt: START + 9 * TTL_MS });
    await assert.rejects(save('h', { expiresAt: START + 9 * TTL_MS }), SessionFullError);
    assert.equal((await members()).length, 5);
  });

  it('the limit of a session leaves nothing of what it refuses', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await save(id);
    await assert.rejects(create('refused'), SessionFullError);
    assert.equal(await replicaOf(0).responses.get(tenant, 'refused'), undefined);
    requireAlike(
      (await replicaOf(0).runs.queuedBefore(START + 1000 * TTL_MS, 100)).filter((run) => run.tenant === tenant),
      [],
    );
  });
});
