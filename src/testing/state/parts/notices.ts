import type { ResponseStore } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { heardBy } from '../heard.js';
import { part } from '../part.js';
import { append, newTenant, purge } from '../records.js';
import type { TestedState } from '../tested-state.js';

const MINUTE_MS = 60_000;

/** What a backend tells of deletions. */
export const NOTICES = part('notices', 'notices of deletions', ({ openOnce, it }) => {
  let opened: TestedState;
  let store: ResponseStore;

  openOnce((state) => {
    opened = state;
    store = opened.backend.responses;
  });

  it('notices of deletions say what is deleted, and nothing else', async () => {
    const tenant = newTenant();
    const heard = heardBy(opened.backend);
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    await append(store, tenant, 'c', { parentId: 'b' });
    await append(store, tenant, 'other');
    await store.delete(tenant, 'b', { cascade: false });
    requireAlike(heard, new Set(['b']));
    await store.delete(tenant, 'a', { cascade: true });
    requireAlike(heard, new Set(['a', 'b', 'c']));
    await store.delete(tenant, 'nothing', { cascade: false });
    await store.delete(newTenant(), 'other', { cascade: true });
    requireAlike(heard, new Set(['a', 'b', 'c']));
  });

  it('notices of deletions say what is purged', async () => {
    const tenant = newTenant();
    const heard = heardBy(opened.backend);
    const now = opened.clock.now();
    await append(store, tenant, 'a', { expiresAt: now + MINUTE_MS });
    await append(store, tenant, 'b', { parentId: 'a', expiresAt: now + MINUTE_MS });
    await append(store, tenant, 'living', { parentId: 'b', expiresAt: now + 2 * MINUTE_MS });
    await purge(store);
    requireAlike(heard, new Set());
    opened.clock.advance(MINUTE_MS);
    await purge(store);
    requireAlike(heard, new Set(['a', 'b']));
  });

  it('notices of deletions say what goes with a session, and what belongs to another one from now on', async () => {
    const tenant = newTenant();
    const { sessions } = opened.backend;
    const heard = heardBy(opened.backend);
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a', sessionId: 'one' });
    await append(store, tenant, 'apart', { sessionId: 'two' });
    await sessions.fork(tenant, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    await sessions.delete(tenant, 'one');
    requireAlike(heard, new Set(['a', 'b']));
  });
});
