import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { WriteLease } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { CALLS, outcomeOf } from '../contract-calls.js';
import { createConversation, turnIn } from '../conversations.js';
import { part } from '../part.js';
import { append, newTenant } from '../records.js';
import { enqueue, launch } from '../runs.js';
import type { TestedState } from '../tested-state.js';

const WITHIN = [undefined, 'session', 'elsewhere'];

/** No method of any contract shows or changes what another tenant has. */
export const TENANTS = part('responses', 'tenants', ({ openOnce, it, describe, beforeEach, afterEach }) => {
  let opened: TestedState;
  /** What each call answers while nobody has anything. */
  const ofNobody = new Map<string, Promise<unknown>>();
  /** The tenant with data, which the calls of other tenants do not change. */
  const owner = newTenant();
  /** The data of `owner`, as last read. */
  let seen: unknown;

  openOnce(async (state) => {
    opened = state;
    for (const { name, call } of CALLS)
      for (const within of WITHIN) {
        const answer = outcomeOf(call(opened.backend, newTenant(), within));
        ofNobody.set(`${name} ${within}`, answer);
        // Only its own case fails for it.
        await Promise.allSettled([answer]);
      }
    await fill(owner);
    seen = await snapshotOf(owner);
  });

  /** Root, target, its sibling and its child, two in the background, and one of a conversation, in a session. */
  const fill = async (tenant: Tenant): Promise<void> => {
    const { responses, runs } = opened.backend;
    const parts = { sessionId: 'session', metadata: { kind: 'secret' } };
    await append(responses, tenant, 'root', parts);
    await append(responses, tenant, 'target', { ...parts, parentId: 'root' });
    await append(responses, tenant, 'sibling', { ...parts, parentId: 'root' });
    await append(responses, tenant, 'child', { ...parts, parentId: 'target' });
    await enqueue(runs, tenant, 'waiting', { ...parts, parentId: 'root' });
    await launch(opened.backend, tenant, 'running', { ...parts, parentId: 'root' });
    await createConversation(opened.backend, tenant, 'talk', 'talk-a', 'talk-b');
    await turnIn(opened.backend, tenant, 'talk', 'told', parts);
  };
  const hold = (tenant: Tenant): Promise<WriteLease | undefined> =>
    opened.backend.locks.tryAcquire(tenant, 'session', 60_000);
  /** All that a tenant can see of what `fill` made. */
  const snapshotOf = async (tenant: Tenant): Promise<unknown> => {
    const { responses, conversations, graph, sessions, log } = opened.backend;
    return Promise.all([
      graph.list(tenant, { sessionId: 'session' }, { limit: 10, order: 'asc' }),
      graph.list(tenant, {}, { limit: 10, order: 'asc' }),
      graph.tree(tenant, 'root', { depth: 10, limit: 10 }),
      responses.chain(tenant, 'child'),
      responses.items(tenant, ['root-in', 'target-out', 'child-in']),
      log.read(tenant, 'waiting', -1),
      log.read(tenant, 'running', -1),
      sessions.hasAtLeast(tenant, 'session', 7),
      sessions.hasAtLeast(tenant, 'session', 8),
      conversations.get(tenant, 'talk'),
      conversations.read(tenant, 'talk'),
      responses.chain(tenant, 'told'),
    ]);
  };

  for (const { name, call } of CALLS) {
    describe(name, () => {
      let lease: WriteLease | undefined;

      beforeEach(async () => {
        lease = await hold(owner);
      });
      afterEach(() => lease?.release());

      for (const within of WITHIN) {
        const where = within === undefined ? 'outside of sessions' : `within '${within}'`;

        it(`the state answers strangers as if nobody had anything, and changes nothing, ${where}`, async () => {
          const answer = await outcomeOf(call(opened.backend, newTenant(), within));
          requireAlike(answer, await ofNobody.get(`${name} ${within}`));
          // Only the case whose call has changed something fails.
          const before = seen;
          seen = await snapshotOf(owner);
          requireAlike(seen, before);
          assert.equal(await lease?.renew(), true);
        });
      }
    });

    describe(name, () => {
      it('the state answers the tenant otherwise', async () => {
        const tenant = newTenant();
        await fill(tenant);
        const lease = await hold(tenant);
        const answer = await outcomeOf(call(opened.backend, tenant, 'session'));
        assert.notDeepEqual(answer, await outcomeOf(call(opened.backend, newTenant(), 'session')));
        await lease?.release();
      });
    });
  }
});
