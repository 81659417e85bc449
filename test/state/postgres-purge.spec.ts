import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';

import { heardBy } from './heard.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { append, contextFrom, contextOf, lineOf, newOwner, purge, recordOf, START, TTL_MS } from './records.js';

describe('purging PostgreSQL', () => {
  const owner = newOwner();
  let opened: OpenedPostgres;

  beforeEach(async () => {
    opened = await openPostgres();
  });
  afterEach(() => opened.close());

  /** Has something expire and purged, so that later sweeps do not begin at the beginning any more. */
  const purgeOnce = async (): Promise<void> => {
    await append(opened.backend.responses, newOwner(), 'first', { expiresAt: opened.clock.now() + 1 });
    opened.clock.advance(1);
    await purge(opened.backend.responses);
  };

  /** Every so often a sweep looks for what was left behind. */
  const expectFreedInTime = async (): Promise<void> => {
    for (let sweeps = 0; sweeps < 100 && (await opened.content()) > 0; sweeps += 1)
      await purge(opened.backend.responses);
    expect(await opened.content()).toBe(0);
  };

  it('does no harm when several replicas do it at once', async () => {
    const { backend, clock, database } = opened;
    const others = await Promise.all(Array.from({ length: 3 }, () => opened.replica()));
    await opened.saveMany(owner, lineOf(3000));
    for (let index = 0; index < 200; index += 1) {
      const expiresAt = index % 2 === 0 ? START + TTL_MS : START + 2 * TTL_MS;
      const parentId = index % 4 < 2 ? 'r2999' : 'r10';
      await backend.responses.save(owner, recordOf(`child-${index}`, { parentId, sessionId: 'r0', expiresAt }));
    }
    clock.advance(TTL_MS);
    await Promise.all([backend, ...others].map(({ responses }) => purge(responses)));
    const { data } = await backend.graph.list(owner, {}, { limit: 100, order: 'asc' });
    expect(data).toHaveLength(100);
    const context = await contextOf(backend.responses, owner, 'child-1');
    expect(context).toEqual(contextFrom('child-1'));
    clock.advance(TTL_MS);
    await Promise.all([backend, ...others].map(({ responses }) => purge(responses)));
    await purge(opened.backend.responses);
    expect(await opened.content()).toBe(0);
    expect(await database.query('SELECT FROM antiphon.session_responses')).toEqual([]);
  });

  it('frees what was busy when its last descendant went', async () => {
    const { backend, database } = opened;
    const impatient = await opened.replica({ DATABASE_STATEMENT_TIMEOUT_MS: 100 });
    await purgeOnce();
    await append(backend.responses, owner, 'parent');
    await append(backend.responses, owner, 'child', { parentId: 'parent' });
    await backend.responses.delete(owner, 'parent', { cascade: false });
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query("BEGIN; SELECT FROM antiphon.responses WHERE id = 'parent' FOR UPDATE");
    try {
      expect(await impatient.responses.delete(owner, 'child', { cascade: false })).toBe(1);
      expect(await backend.responses.get(owner, 'child')).toBeUndefined();
    } finally {
      await client.query('ROLLBACK');
      await client.end();
    }
    await expectFreedInTime();
  });

  it('frees what a replica that died did not come to', async () => {
    const { backend, database } = opened;
    await purgeOnce();
    await append(backend.responses, owner, 'a');
    await append(backend.responses, owner, 'b', { parentId: 'a' });
    await database.query("UPDATE antiphon.responses SET expires_at = '-infinity'");
    await expectFreedInTime();
  });

  it('frees what was saved late, with an expiry that others are past', async () => {
    await purgeOnce();
    await opened.backend.responses.save(owner, recordOf('late', { expiresAt: START - 1000 }));
    expect(await opened.backend.responses.get(owner, 'late')).toBeUndefined();
    await expectFreedInTime();
  });

  it('comes to its end though much that is deleted is still needed', async () => {
    const { backend, database } = opened;
    await opened.saveMany(owner, lineOf(2500));
    await database.query("UPDATE antiphon.responses SET expires_at = '-infinity' WHERE id <> 'r2499'");
    await purge(opened.backend.responses);
    await purge(opened.backend.responses);
    expect(await contextOf(backend.responses, owner, 'r2499')).toEqual([]);
    expect(await opened.content()).toBe(2500);
  });

  it('tells of responses once they have expired, not of those that were deleted before', async () => {
    const { backend, clock } = opened;
    await append(backend.responses, owner, 'deleted');
    await append(backend.responses, owner, 'child', { parentId: 'deleted', expiresAt: START + 1000 });
    await append(backend.responses, owner, 'living');
    await backend.responses.delete(owner, 'deleted', { cascade: false });
    const heard = heardBy(backend);
    clock.advance(1000);
    await purge(opened.backend.responses);
    expect(heard).toContain('child');
    expect(heard).not.toContain('living');
  });
});
