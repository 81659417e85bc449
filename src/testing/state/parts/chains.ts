import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { ResponseStore } from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, newTenant, recordOf, START, TTL_MS } from '../records.js';

/** Responses that continue others. */
export const CHAINS = part('responses', 'responses that continue others', ({ share, it, describe, beforeEach }) => {
  let store: ResponseStore;
  let tenant: Tenant;

  share(({ backend }, newcomer) => {
    [store, tenant] = [backend.responses, newcomer];
  });

  it('chains consist of one response at first', async () => {
    const origin = { provider: 'upstream', upstreamId: 'theirs' };
    const { input, response } = await append(store, tenant, 'a', { origin });
    requireAlike(await store.chain(tenant, 'a'), {
      responseId: 'a',
      items: [...input, ...response.output],
      origin,
      isInConversation: false,
      sessionId: 'a',
      expiresAt: START + TTL_MS,
    });
  });

  it('chains have the items of all ancestors, oldest first, and the origin and session of the last response', async () => {
    await append(store, tenant, 'c', { origin: { provider: 'first' }, sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'c', origin: { provider: 'second' } });
    await append(store, tenant, 'a', { parentId: 'b', sessionId: 'two' });
    requireAlike(await contextOf(store, tenant, 'a'), contextFrom('c', 'b', 'a'));
    requireMatch(await store.chain(tenant, 'b'), { origin: { provider: 'second' }, sessionId: 'one' });
    requireMatch(await store.chain(tenant, 'a'), { origin: null, sessionId: 'two' });
  });

  it('chains have what is said twice twice', async () => {
    const same = { input: [message('same')], output: [message('same')] };
    await append(store, tenant, 'a', same);
    await append(store, tenant, 'b', { parentId: 'a', ...same });
    requireAlike(await contextOf(store, tenant, 'b'), ['same', 'same', 'same', 'same']);
  });

  it('chains branch', async () => {
    await append(store, tenant, 'root');
    for (const branch of ['left', 'right']) await append(store, tenant, branch, { parentId: 'root' });
    await append(store, tenant, 'further', { parentId: 'left' });
    requireAlike(await contextOf(store, tenant, 'further'), contextFrom('root', 'left', 'further'));
    requireAlike(await contextOf(store, tenant, 'right'), contextFrom('root', 'right'));
    requireAlike(await contextOf(store, tenant, 'root'), contextFrom('root'));
  });

  it('chains may be 1,000 responses long', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `r${index}`);
    for (const [index, id] of ids.entries()) {
      const parentId = ids[index - 1] ?? null;
      await store.save(tenant, recordOf(id, { parentId, sessionId: 'long' }));
    }
    requireAlike(await contextOf(store, tenant, 'r999'), contextFrom(...ids));
    requireAlike(await contextOf(store, tenant, 'r9'), contextFrom(...ids.slice(0, 10)));
  });

  for (const status of ['completed', 'incomplete'] as const) {
    it(`chains go on from a response that is ${status}`, async () => {
      await append(store, tenant, 'a', { status });
      requireAlike(await contextOf(store, tenant, 'a'), contextFrom('a'));
    });
  }

  for (const status of ['failed', 'cancelled', 'in_progress', 'queued'] as const) {
    it(`chains do not go on from a response that is ${status}`, async () => {
      await append(store, tenant, 'a', { status });
      assert.equal(await contextOf(store, tenant, 'a'), undefined);
      assert.equal((await store.get(tenant, 'a'))?.status, status);
    });
  }

  describe('whose parent is kept', () => {
    it('a child links to a parent that is kept, and does not keep what came before once more', async () => {
      await append(store, tenant, 'parent');
      const inherited = [message('told by the caller')];
      await store.save(tenant, recordOf('child', { parentId: 'parent', sessionId: 'parent', inherited }));
      requireAlike(await contextOf(store, tenant, 'child'), contextFrom('parent', 'child'));
    });
  });

  for (const [state, remove] of [
    ['was never stored', async () => undefined],
    ['is gone', async () => store.delete(tenant, 'parent', { cascade: false })],
    ['belongs to somebody else', async () => append(store, newTenant(), 'parent')],
  ] as const) {
    describe(`whose parent ${state}`, () => {
      const inherited = contextFrom('parent').map((id) => message(id));

      beforeEach(async () => {
        if (state === 'is gone') await append(store, tenant, 'parent');
        await remove();
        await store.save(tenant, recordOf('child', { parentId: 'parent', sessionId: 'lost', inherited }));
      });

      it('a child keeps what came before', async () => {
        requireAlike((await store.chain(tenant, 'child'))?.items, [
          ...inherited,
          ...recordOf('child').input,
          ...recordOf('child').response.output,
        ]);
      });

      it('a child passes on what came before', async () => {
        await append(store, tenant, 'grandchild', { parentId: 'child' });
        requireAlike(await contextOf(store, tenant, 'grandchild'), contextFrom('parent', 'child', 'grandchild'));
      });

      it('what came before is not shown as the input of the child', async () => {
        const page = await store.inputItems(tenant, 'child', { limit: 10, order: 'asc' });
        requireAlike(page, { data: recordOf('child').input, hasMore: false });
        requireAlike(await store.items(tenant, contextFrom('parent')), new Map());
      });
    });
  }

  it('responses do not continue themselves', async () => {
    const inherited = [message('before')];
    await store.save(tenant, recordOf('loop', { parentId: 'loop', inherited }));
    requireAlike(await contextOf(store, tenant, 'loop'), ['before', ...contextFrom('loop')]);
  });
});
