import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Owner } from '../../src/access/index.js';
import type { SessionLease } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { CALLS, outcomeOf } from './contract-calls.js';
import { append, newOwner } from './records.js';

const WITHIN = [undefined, 'session', 'elsewhere'];

describe.each(BACKENDS)('owners in $name', ({ open }) => {
  let opened: OpenedBackend;

  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  /** Root, target, its sibling and its child, all in one session, which is held. */
  const fill = async (owner: Owner): Promise<SessionLease | undefined> => {
    const { responses, locks } = opened.backend;
    const parts = { sessionId: 'session', metadata: { kind: 'secret' } };
    await append(responses, owner, 'root', parts);
    await append(responses, owner, 'target', { ...parts, parentId: 'root' });
    await append(responses, owner, 'sibling', { ...parts, parentId: 'root' });
    await append(responses, owner, 'child', { ...parts, parentId: 'target' });
    return locks.tryAcquire(owner, 'session', 60_000);
  };
  /** All that an owner can see of what `fill` made. */
  const snapshotOf = async (owner: Owner): Promise<unknown> => {
    const { responses, graph, sessions } = opened.backend;
    return Promise.all([
      graph.list(owner, { sessionId: 'session' }, { limit: 10, order: 'asc' }),
      graph.list(owner, {}, { limit: 10, order: 'asc' }),
      graph.tree(owner, 'root', { depth: 10, limit: 10 }),
      responses.chain(owner, 'child'),
      responses.items(owner, ['root-in', 'target-out', 'child-in']),
      sessions.hasAtLeast(owner, 'session', 4),
      sessions.hasAtLeast(owner, 'session', 5),
    ]);
  };

  describe.each(CALLS)('$name', ({ call }) => {
    let owner: Owner;
    let lease: SessionLease | undefined;

    beforeEach(async () => {
      owner = newOwner();
      lease = await fill(owner);
    });

    it.each(WITHIN)('answers strangers as if nobody had anything, within %p', async (within) => {
      const answer = await outcomeOf(call(opened.backend, newOwner(), within));
      await opened.backend.responses.delete(owner, 'root', { cascade: true });
      await lease?.release();
      expect(answer).toEqual(await outcomeOf(call(opened.backend, newOwner(), within)));
    });

    it.each(WITHIN)('leaves to the owner what a stranger asks for, within %p', async (within) => {
      const before = await snapshotOf(owner);
      await outcomeOf(call(opened.backend, newOwner(), within));
      expect(await snapshotOf(owner)).toEqual(before);
      expect(await lease?.renew()).toBe(true);
    });

    it('answers the owner otherwise', async () => {
      const answer = await outcomeOf(call(opened.backend, owner, 'session'));
      expect(answer).not.toEqual(await outcomeOf(call(opened.backend, newOwner(), 'session')));
    });
  });
});
