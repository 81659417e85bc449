import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';

import { toHash } from '../../src/state/index.js';
import { heardBy } from '../../src/testing/state/heard.js';
import {
  append,
  contextFrom,
  contextOf,
  lineOf,
  newTenant,
  purge,
  recordOf,
  START,
  TTL_MS,
} from '../../src/testing/state/records.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';

describe('purging PostgreSQL', () => {
  const tenant = newTenant();
  let opened: OpenedPostgres;

  beforeEach(async () => {
    opened = await openPostgres();
  });
  afterEach(() => opened.close());

  /** Has something expire and purged, so that later sweeps do not begin at the beginning any more. */
  const purgeOnce = async (): Promise<void> => {
    await append(opened.backend.responses, newTenant(), 'first', { expiresAt: opened.clock.now() + 1 });
    opened.clock.advance(1);
    await purge(opened.backend.responses);
  };

  /** Gives up a statement that waits for a lock, as the database does when it has taken too long. */
  const cancelWhatWaits = async (): Promise<void> => {
    let cancelled: readonly unknown[];
    do {
      cancelled = await opened.database.query(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
    } while (cancelled.length === 0);
  };

  /** Every so often a sweep looks for what was left behind. */
  const expectFreedInTime = async (): Promise<void> => {
    for (let sweeps = 0; sweeps < 100 && (await opened.content()) > 0; sweeps += 1)
      await purge(opened.backend.responses);
    expect(await opened.content()).toBe(0);
  };

  it('a purge of PostgreSQL does no harm when several replicas do it at once', async () => {
    const { backend, clock, database } = opened;
    const others = await Promise.all(Array.from({ length: 3 }, () => opened.replica()));
    await opened.saveMany(tenant, lineOf(3000));
    for (let index = 0; index < 200; index += 1) {
      const expiresAt = index % 2 === 0 ? START + TTL_MS : START + 2 * TTL_MS;
      const parentId = index % 4 < 2 ? 'r2999' : 'r10';
      await backend.responses.save(tenant, recordOf(`child-${index}`, { parentId, sessionId: 'r0', expiresAt }));
    }
    clock.advance(TTL_MS);
    await Promise.all([backend, ...others].map(({ responses }) => purge(responses)));
    const { data } = await backend.graph.list(tenant, {}, { limit: 100, order: 'asc' });
    expect(data).toHaveLength(100);
    const context = await contextOf(backend.responses, tenant, 'child-1');
    expect(context).toEqual(contextFrom('child-1'));
    clock.advance(TTL_MS);
    await Promise.all([backend, ...others].map(({ responses }) => purge(responses)));
    await purge(opened.backend.responses);
    expect(await opened.content()).toBe(0);
    expect(await database.query('SELECT FROM antiphon.session_responses')).toEqual([]);
  });

  it('a purge frees what was busy when its last descendant went', async () => {
    const { backend, database } = opened;
    await purgeOnce();
    await append(backend.responses, tenant, 'parent');
    await append(backend.responses, tenant, 'child', { parentId: 'parent' });
    await backend.responses.delete(tenant, 'parent', { cascade: false });
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query("BEGIN; SELECT FROM antiphon.responses WHERE id = 'parent' FOR UPDATE");
    try {
      const deleted = backend.responses.delete(tenant, 'child', { cascade: false });
      await cancelWhatWaits();
      expect(await deleted).toBe(1);
      expect(await backend.responses.get(tenant, 'child')).toBeUndefined();
    } finally {
      await client.query('ROLLBACK');
      await client.end();
    }
    await expectFreedInTime();
  });

  it('a purge frees the pieces of files that a replica was freeing when it died', async () => {
    const { database, clock } = opened;
    const { files } = opened.backend;
    const bytes = Buffer.from('a piece');
    const piece = { position: 0, hash: toHash(bytes), bytes };
    await files.append(tenant, 'draft', piece, clock.now() + 1000, { bytes: bytes.length, files: 1 });
    await files.discard(tenant, 'draft');
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('BEGIN; SELECT FROM antiphon.file_places FOR UPDATE');
    try {
      while (await files.purge());
    } finally {
      await client.query('ROLLBACK');
      await client.end();
    }
    while (await files.purge());
    for (const table of ['files', 'file_places', 'file_pieces']) {
      expect(await database.query(`SELECT FROM antiphon.${table}`)).toEqual([]);
    }
  });

  it('a purge frees what a replica that died did not come to', async () => {
    const { backend, database } = opened;
    await purgeOnce();
    await append(backend.responses, tenant, 'a');
    await append(backend.responses, tenant, 'b', { parentId: 'a' });
    await database.query("UPDATE antiphon.responses SET expires_at = '-infinity'");
    await expectFreedInTime();
  });

  it('a purge frees what was saved late, with an expiry that others are past', async () => {
    await purgeOnce();
    await opened.backend.responses.save(tenant, recordOf('late', { expiresAt: START - 1000 }));
    expect(await opened.backend.responses.get(tenant, 'late')).toBeUndefined();
    await expectFreedInTime();
  });

  it('a purge comes to its end though much that is deleted is still needed', async () => {
    const { backend, database } = opened;
    await opened.saveMany(tenant, lineOf(2500));
    await database.query("UPDATE antiphon.responses SET expires_at = '-infinity' WHERE id <> 'r2499'");
    await purge(opened.backend.responses);
    await purge(opened.backend.responses);
    expect(await contextOf(backend.responses, tenant, 'r2499')).toEqual([]);
    expect(await opened.content()).toBe(2500);
  });

  it('a purge tells of responses once they have expired, not of those that were deleted before', async () => {
    const { backend, clock } = opened;
    await append(backend.responses, tenant, 'deleted');
    await append(backend.responses, tenant, 'child', { parentId: 'deleted', expiresAt: START + 1000 });
    await append(backend.responses, tenant, 'living');
    await backend.responses.delete(tenant, 'deleted', { cascade: false });
    const heard = heardBy(backend);
    clock.advance(1000);
    await purge(opened.backend.responses);
    expect(heard).toContain('child');
    expect(heard).not.toContain('living');
  });
});
