import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, message, newTenant, recordOf, START, TTL_MS } from './records.js';

describe.each(BACKENDS)('conversations in $name', ({ open }) => {
  let opened: OpenedBackend;
  let store: ResponseStore;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    store = opened.backend.responses;
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  it('consist of one response at first', async () => {
    const origin = { provider: 'upstream', upstreamId: 'theirs' };
    const { input, response } = await append(store, tenant, 'a', { origin });
    expect(await store.chain(tenant, 'a')).toEqual({
      responseId: 'a',
      items: [...input, ...response.output],
      origin,
      isInConversation: false,
      sessionId: 'a',
      expiresAt: START + TTL_MS,
    });
  });

  it('have the items of all ancestors, oldest first, and the origin and session of the last response', async () => {
    await append(store, tenant, 'c', { origin: { provider: 'first' }, sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'c', origin: { provider: 'second' } });
    await append(store, tenant, 'a', { parentId: 'b', sessionId: 'two' });
    expect(await contextOf(store, tenant, 'a')).toEqual(contextFrom('c', 'b', 'a'));
    expect(await store.chain(tenant, 'b')).toMatchObject({ origin: { provider: 'second' }, sessionId: 'one' });
    expect(await store.chain(tenant, 'a')).toMatchObject({ origin: null, sessionId: 'two' });
  });

  it('have what is said twice twice', async () => {
    const same = { input: [message('same')], output: [message('same')] };
    await append(store, tenant, 'a', same);
    await append(store, tenant, 'b', { parentId: 'a', ...same });
    expect(await contextOf(store, tenant, 'b')).toEqual(['same', 'same', 'same', 'same']);
  });

  it('branch', async () => {
    await append(store, tenant, 'root');
    for (const branch of ['left', 'right']) await append(store, tenant, branch, { parentId: 'root' });
    await append(store, tenant, 'further', { parentId: 'left' });
    expect(await contextOf(store, tenant, 'further')).toEqual(contextFrom('root', 'left', 'further'));
    expect(await contextOf(store, tenant, 'right')).toEqual(contextFrom('root', 'right'));
    expect(await contextOf(store, tenant, 'root')).toEqual(contextFrom('root'));
  });

  it('may be 1,000 responses long', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `r${index}`);
    for (const [index, id] of ids.entries()) {
      const parentId = ids[index - 1] ?? null;
      await store.save(tenant, recordOf(id, { parentId, sessionId: 'long' }));
    }
    expect(await contextOf(store, tenant, 'r999')).toEqual(contextFrom(...ids));
    expect(await contextOf(store, tenant, 'r9')).toEqual(contextFrom(...ids.slice(0, 10)));
  });

  it.each(['completed', 'incomplete'] as const)('go on from a response that is %s', async (status) => {
    await append(store, tenant, 'a', { status });
    expect(await contextOf(store, tenant, 'a')).toEqual(contextFrom('a'));
  });

  it.each(['failed', 'cancelled', 'in_progress', 'queued'] as const)(
    'do not go on from a response that is %s',
    async (status) => {
      await append(store, tenant, 'a', { status });
      expect(await contextOf(store, tenant, 'a')).toBeUndefined();
      expect((await store.get(tenant, 'a'))?.status).toBe(status);
    },
  );

  describe('whose parent is kept', () => {
    it('link to it, and do not keep what came before once more', async () => {
      await append(store, tenant, 'parent');
      const inherited = [message('told by the caller')];
      await store.save(tenant, recordOf('child', { parentId: 'parent', sessionId: 'parent', inherited }));
      expect(await contextOf(store, tenant, 'child')).toEqual(contextFrom('parent', 'child'));
    });
  });

  describe.each([
    ['was never stored', async () => undefined],
    ['is gone', async () => store.delete(tenant, 'parent', { cascade: false })],
    ['belongs to somebody else', async () => append(store, newTenant(), 'parent')],
  ])('whose parent %s', (state, remove) => {
    const inherited = contextFrom('parent').map((id) => message(id));

    beforeEach(async () => {
      if (state === 'is gone') await append(store, tenant, 'parent');
      await remove();
      await store.save(tenant, recordOf('child', { parentId: 'parent', sessionId: 'lost', inherited }));
    });

    it('keep what came before', async () => {
      expect((await store.chain(tenant, 'child'))?.items).toEqual([
        ...inherited,
        ...recordOf('child').input,
        ...recordOf('child').response.output,
      ]);
    });

    it('pass it on', async () => {
      await append(store, tenant, 'grandchild', { parentId: 'child' });
      expect(await contextOf(store, tenant, 'grandchild')).toEqual(contextFrom('parent', 'child', 'grandchild'));
    });

    it('do not show it as the input of the child', async () => {
      const page = await store.inputItems(tenant, 'child', { limit: 10, order: 'asc' });
      expect(page).toEqual({ data: recordOf('child').input, hasMore: false });
      expect(await store.items(tenant, contextFrom('parent'))).toEqual(new Map());
    });
  });

  it('do not continue themselves', async () => {
    const inherited = [message('before')];
    await store.save(tenant, recordOf('loop', { parentId: 'loop', inherited }));
    expect(await contextOf(store, tenant, 'loop')).toEqual(['before', ...contextFrom('loop')]);
  });
});
