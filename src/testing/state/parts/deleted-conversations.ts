import assert from 'node:assert/strict';

import { requireAlike } from '../assertions.js';
import { createConversation, openConversation, partsIn, seenIn, turnIn } from '../conversations.js';
import { part } from '../part.js';
import { append, contextFrom, message, newTenant, purge } from '../records.js';
import { endingOf, launch } from '../runs.js';
import type { TestedState } from '../tested-state.js';

/** Conversations that are deleted leave nothing behind. */
export const DELETED_CONVERSATIONS = part('conversations', 'deleted conversations', ({ openEach, it }) => {
  const tenant = newTenant();
  let opened: TestedState;

  openEach((state) => (opened = state));

  it('deleted conversations leave nothing behind', async () => {
    const { backend } = opened;
    await createConversation(backend, tenant, 'c', 'a', 'b');
    await backend.conversations.append(tenant, 'c', [message('d')]);
    await backend.conversations.deleteItem(tenant, 'c', 'b');
    await backend.conversations.update(tenant, 'c', { kind: 'x'.repeat(100) });
    await turnIn(backend, tenant, 'c', 'r1');
    const run = await launch(backend, tenant, 'bg', { conversationId: 'c' });
    const lease = await openConversation(backend, tenant, 'c');
    await backend.runs.finish(run, endingOf('bg', { ...partsIn('c', lease), at: 3 }));
    await append(backend.responses, tenant, 'child', { parentId: 'r1' });
    await backend.conversations.delete(tenant, 'c');
    for (const id of ['r1', 'bg', 'child']) await backend.responses.delete(tenant, id, { cascade: false });
    await purge(backend.responses);
    assert.equal(await opened.content(), 0);
  });

  it('deleted conversations leave nothing behind when their responses go first', async () => {
    const { backend } = opened;
    await createConversation(backend, tenant, 'c', 'a');
    await turnIn(backend, tenant, 'c', 'r1');
    await backend.responses.delete(tenant, 'r1', { cascade: false });
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', ...contextFrom('r1')]);
    await backend.conversations.delete(tenant, 'c');
    assert.equal(await opened.content(), 0);
  });
});
