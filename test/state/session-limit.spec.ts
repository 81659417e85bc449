import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type ResponseStore, SessionFullError, type StateBackend } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { newTenant, recordOf, START, TTL_MS } from './records.js';
import { NO_BOUNDS, queuedOf } from './runs.js';

/** A backend that replicas may share. */
type Opened = OpenedBackend & { readonly replica?: () => Promise<StateBackend> };

const LIMITED = { sessionId: 'full', sessionLimit: 5 };

describe.each(BACKENDS)('the limit of a session in $name', ({ open }) => {
  let opened: Opened;
  let stores: readonly ResponseStore[];
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    const other = await opened.replica?.();
    stores = [opened.backend.responses, ...(other === undefined ? [] : [other.responses])];
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  const storeOf = (index: number): ResponseStore => stores[index % stores.length] as ResponseStore;
  const save = async (id: string, parts: object = {}, index = 0): Promise<void> => {
    await storeOf(index).save(tenant, recordOf(id, { ...LIMITED, ...parts }));
  };
  const create = (id: string, index = 0): Promise<void> =>
    storeOf(index).create(tenant, { ...queuedOf(id), ...LIMITED }, NO_BOUNDS);
  const members = async (): Promise<readonly string[]> => {
    const page = { limit: 100, order: 'asc' } as const;
    return (await opened.backend.graph.list(tenant, { sessionId: 'full' }, page)).data.map(({ id }) => id);
  };
  const outcomes = async (all: readonly Promise<void>[]): Promise<readonly unknown[]> =>
    (await Promise.allSettled(all)).map((result) =>
      result.status === 'fulfilled' ? 'stored' : (result.reason as unknown),
    );

  it.each([
    ['saved', (id: string, index: number) => save(id, {}, index)],
    ['created', (id: string, index: number) => create(id, index)],
    ['saved or created', (id: string, index: number) => (index % 4 < 2 ? save(id, {}, index) : create(id, index))],
    [
      'saved far from their session',
      (id: string, index: number) => save(id, { parentId: 'elsewhere', inherited: [] }, index),
    ],
  ])('is held to by ten that are %s at once, by all replicas', async (_, store) => {
    await storeOf(0).save(tenant, recordOf('elsewhere', { sessionId: 'elsewhere' }));
    const all = await outcomes(Array.from({ length: 10 }, (__, index) => store(`r${index}`, index)));
    expect(all.filter((outcome) => outcome === 'stored')).toHaveLength(5);
    expect(all.filter((outcome) => outcome instanceof SessionFullError)).toHaveLength(5);
    expect(await members()).toHaveLength(5);
    await save('beside', { sessionId: 'beside' });
    await save('unlimited', { sessionLimit: undefined });
    expect(await members()).toHaveLength(6);
  });

  it('counts a response once that is saved again', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await save(id);
    await save('e');
    await expect(save('f')).rejects.toBeInstanceOf(SessionFullError);
  });

  it('has room for what has expired, was deleted, or belongs to another tenant', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await save(id);
    await save('short', { expiresAt: START + TTL_MS / 2 });
    await expect(save('f')).rejects.toBeInstanceOf(SessionFullError);
    await storeOf(0).save(newTenant(), recordOf('f', LIMITED));
    await storeOf(0).delete(tenant, 'a', { cascade: false });
    await save('f');
    await expect(save('g')).rejects.toBeInstanceOf(SessionFullError);
    opened.clock.advance(TTL_MS / 2);
    await save('g', { expiresAt: START + 9 * TTL_MS });
    await expect(save('h', { expiresAt: START + 9 * TTL_MS })).rejects.toBeInstanceOf(SessionFullError);
    expect(await members()).toHaveLength(5);
  });

  it('leaves nothing of what it refuses', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await save(id);
    await expect(create('refused')).rejects.toBeInstanceOf(SessionFullError);
    expect(await storeOf(0).get(tenant, 'refused')).toBeUndefined();
    expect((await storeOf(0).queuedBefore(START + 1000 * TTL_MS, 100)).filter((run) => run.tenant === tenant)).toEqual(
      [],
    );
  });
});
