import { expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { StateBackend } from '../../src/state/index.js';
import {
  idsOf,
  openConversation,
  partsIn,
  seenIn,
  turnIn,
  turnWhenFree,
} from '../../src/testing/state/conversations.js';
import { contextFrom, contextOf, LEASE_MS, message, recordOf } from '../../src/testing/state/records.js';

/** Two replicas over one state, with a conversation `c` of one item `a`. */
export interface ConversingReplicas {
  readonly one: StateBackend;
  readonly other: StateBackend;
  readonly tenant: Tenant;
  /** Expects that the size which is stored with the conversation is that of its items. */
  readonly expectExactSize: () => Promise<void>;
}

/** What conversations of replicas have in common, whatever their state is. `current` gives those of the running test. */
export function testConversationsOfReplicas(current: () => ConversingReplicas): void {
  const add = ({ conversations }: StateBackend, id: string): Promise<unknown> =>
    conversations.append(current().tenant, 'c', [message(id)]);

  it('a conversation is open on one replica', async () => {
    const { one, other, tenant } = current();
    const lease = await openConversation(one, tenant, 'c');
    expect(await other.conversations.open(tenant, 'c', { ttlMs: LEASE_MS })).toEqual({ refused: 'locked' });
    expect(await add(other, 'b')).toEqual({ refused: 'locked' });
    await one.responses.save(tenant, recordOf('r', partsIn('c', lease)));
    await lease.release();
    expect(idsOf(await openConversation(other, tenant, 'c'))).toEqual(['a', ...contextFrom('r')]);
  });

  it('conversations have whole turns in order, and every addition once, whoever writes at once', async () => {
    const { one, other, tenant, expectExactSize } = current();
    const turns = Array.from({ length: 12 }, (_, index) => `r${index}`);
    const added = Array.from({ length: 12 }, (_, index) => `added-${index}`);
    const replica = (index: number): StateBackend => (index % 2 === 0 ? one : other);
    await Promise.all([
      ...turns.map((id, index) => turnWhenFree(replica(index), tenant, 'c', id)),
      ...added.map(async (id, index) => {
        while ((await add(replica(index), id)) !== undefined);
      }),
      ...added.map(async (id, index) => {
        while ('refused' in (await replica(index + 1).conversations.deleteItem(tenant, 'c', id)));
      }),
    ]);
    const seen = (await seenIn(other, tenant, 'c')) ?? [];
    expect([...seen].sort()).toEqual(['a', ...contextFrom(...turns)].sort());
    for (const id of turns) {
      expect(seen[seen.indexOf(`${id}-in`) + 1]).toBe(`${id}-out`);
      expect(await contextOf(other.responses, tenant, id)).toEqual(seen.slice(0, seen.indexOf(`${id}-out`) + 1));
    }
    await expectExactSize();
  });

  it('conversations show a reader no half of a turn', async () => {
    const { one, other, tenant } = current();
    let ended = false;
    const read = async (): Promise<void> => {
      while (!ended) expect(((await seenIn(other, tenant, 'c'))?.length ?? 0) % 2).toBe(1);
    };
    const write = async (): Promise<void> => {
      for (let index = 0; index < 20; index += 1) await turnIn(one, tenant, 'c', `r${index}`);
      ended = true;
    };
    await Promise.all([read(), read(), write()]);
  });
}
