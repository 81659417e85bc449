import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';

import type { Tenant } from '../../src/access/index.js';
import { type ConversationStore, type StateBackend, WriteLockLostError } from '../../src/state/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';

import {
  createConversation,
  idsOf,
  listedIn,
  openConversation,
  partsIn,
  seenIn,
  turnIn,
} from '../../src/testing/state/conversations.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { LEASE_MS, contextFrom, lineOf, message, newTenant, purge, recordOf } from '../../src/testing/state/records.js';
import { endingOf, launch } from '../../src/testing/state/runs.js';
import { testConversationsOfReplicas } from './replica-conversations.js';

describe('conversations of replicas over one PostgreSQL', () => {
  let opened: OpenedPostgres;
  let one: StateBackend;
  let other: StateBackend;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await openPostgres();
    one = opened.backend;
    other = await opened.replica();
  });
  beforeEach(async () => {
    tenant = newTenant();
    await createConversation(one, tenant, 'c', 'a');
  });
  afterAll(() => opened.close());

  const add = ({ conversations }: StateBackend, id: string): Promise<unknown> =>
    conversations.append(tenant, 'c', [message(id)]);

  /** Resolves when so many statements wait for a lock of another. */
  const untilWaiting = async (count = 1): Promise<void> => {
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while ((await opened.database.query(waiting)).length < count);
  };
  /** Does something in a transaction that ends when something else waits for it, and `meanwhile` has happened. */
  const whileHolding = async (
    sql: string,
    waits: () => Promise<unknown>,
    meanwhile: () => Promise<unknown> = async () => undefined,
  ): Promise<unknown> => {
    const client = new Client({ connectionString: opened.database.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query(sql, [tenant]);
    const waiting = waits();
    await untilWaiting();
    await meanwhile();
    await client.query('COMMIT');
    await client.end();
    return waiting;
  };

  testConversationsOfReplicas(() => ({
    one,
    other,
    tenant,
    expectExactSize: async () => {
      const [row] = await opened.database.query(
        `SELECT c.items_size = sum(octet_length(i.body)) AS is_exact FROM antiphon.conversations c
        JOIN antiphon.conversation_items i ON i.owner = c.owner AND i.conversation_id = c.id
        WHERE c.owner = $1 GROUP BY c.items_size`,
        [tenant],
      );
      expect(row).toEqual({ is_exact: true });
    },
  }));

  it('a conversation is read anew when something is written while a replica waits for its lock', async () => {
    const free = `INSERT INTO antiphon.session_locks VALUES ($1, 'conversation c', 1, '-infinity')`;
    await opened.database.query(free, [tenant]);
    const changed = await whileHolding(
      `WITH held AS (UPDATE antiphon.session_locks SET fence = 2 WHERE owner = $1 RETURNING owner), changed AS (
        UPDATE antiphon.conversations c SET version = version + 1, end_position = 2 FROM held WHERE c.owner = held.owner
      ) INSERT INTO antiphon.conversation_items
      SELECT owner, 'c', 1, false, 'b', '{"type":"message","id":"b"}' FROM held`,
      () => openConversation(other, tenant, 'c'),
    );
    expect(idsOf(changed as Awaited<ReturnType<typeof openConversation>>)).toEqual(['a', 'b']);
  });

  const isStored = async (id: string): Promise<boolean> =>
    (await opened.database.query(`SELECT FROM antiphon.conversations WHERE owner = '${tenant}' AND id = '${id}'`))
      .length > 0;
  const hide = (id: string): Promise<unknown> =>
    opened.database.query(`UPDATE antiphon.conversations SET is_deleted = true WHERE id = '${id}'`);

  it('the items of a conversation are freed when it is deleted, without a look at other conversations, which are freed in time', async () => {
    await createConversation(one, tenant, 'left behind', 'a');
    await hide('left behind');
    expect(await one.conversations.delete(tenant, 'c')).toBe(true);
    expect([await isStored('c'), await isStored('left behind')]).toEqual([false, true]);
    await purge(one.responses);
    expect(await isStored('left behind')).toBe(false);
  });

  it('conversations to free are looked at a thousand at a time', async () => {
    await opened.saveMany(tenant, lineOf(1000));
    await opened.database.query(
      `INSERT INTO antiphon.conversations (owner, id, created_at, metadata, version, end_position, items_size, is_deleted)
      SELECT owner, 'needed ' || id, now(), '{}', 1, 0, 0, true FROM antiphon.responses WHERE owner = '${tenant}'`,
    );
    await opened.database.query(
      `UPDATE antiphon.responses SET conversation_id = 'needed ' || id, conversation_end = 0 WHERE owner = '${tenant}'`,
    );
    await createConversation(one, tenant, 'zero', 'a');
    await hide('zero');
    await purge(one.responses);
    expect(await isStored('zero')).toBe(true);
    await purge(one.responses);
    expect(await isStored('zero')).toBe(false);
    expect(await isStored('needed r0')).toBe(true);
  });

  it('a conversation is not found, and not locked, when it is deleted while a replica waits for its lock', async () => {
    const answer = await whileHolding(
      `WITH held AS (INSERT INTO antiphon.session_locks VALUES ($1, 'conversation c', 1, '-infinity') RETURNING owner)
      UPDATE antiphon.conversations c SET is_deleted = true FROM held WHERE c.owner = held.owner`,
      () => other.conversations.open(tenant, 'c', { ttlMs: LEASE_MS }),
    );
    expect(answer).toEqual({ refused: 'not_found' });
    const locks = await opened.database.query('SELECT FROM antiphon.session_locks WHERE owner = $1', [tenant]);
    expect(locks).toEqual([]);
  });

  it('a conversation takes an addition that waited for another one, and refuses its duplicate', async () => {
    const waitFor = (id: string): Promise<unknown> =>
      whileHolding(
        `WITH held AS (
          INSERT INTO antiphon.session_locks VALUES ($1, 'conversation c', 1, '-infinity')
          ON CONFLICT (owner, session_id) DO UPDATE SET fence = 1 RETURNING owner
        ), changed AS (
          UPDATE antiphon.conversations c SET version = version + 1, end_position = end_position + 1
          FROM held WHERE c.owner = held.owner RETURNING c.owner, c.end_position
        ) INSERT INTO antiphon.conversation_items
        SELECT owner, 'c', end_position - 1, false, 'b' || end_position, '{"type":"message","id":"b"}' FROM changed`,
        () => add(other, id),
      );
    expect(await waitFor('d')).toBeUndefined();
    expect(await waitFor('b4')).toEqual({ refused: 'duplicate_item', itemId: 'b4' });
    expect(await add(one, 'e')).toBeUndefined();
  });

  it('a conversation refuses an addition that waited for a turn to begin', async () => {
    const answer = await whileHolding(
      `INSERT INTO antiphon.session_locks VALUES ($1, 'conversation c', 1, 'infinity')`,
      () => add(other, 'b'),
    );
    expect(answer).toEqual({ refused: 'locked' });
    expect(await seenIn(one, tenant, 'c')).toEqual(['a']);
  });

  it('a conversation refuses a save that waited for a turn to begin', async () => {
    const lease = await openConversation(one, tenant, 'c');
    const late = whileHolding(`UPDATE antiphon.session_locks SET fence = fence + 1 WHERE owner = $1`, async () =>
      one.responses.save(tenant, recordOf('late', partsIn('c', lease))),
    );
    await expect(late).rejects.toBeInstanceOf(WriteLockLostError);
    expect(await seenIn(one, tenant, 'c')).toEqual(['a']);
  });

  it('a conversation has a turn once whose save waited for its own first attempt', async () => {
    const lease = await openConversation(one, tenant, 'c');
    const record = recordOf('r', partsIn('c', lease));
    // What holds both back is the row of the conversation.
    await whileHolding(
      `UPDATE antiphon.conversations SET metadata = metadata WHERE owner = $1`,
      () => Promise.all([one.responses.save(tenant, record), other.responses.save(tenant, record)]),
      () => untilWaiting(2),
    );
    expect(await seenIn(one, tenant, 'c')).toEqual(['a', ...contextFrom('r')]);
  });

  it('a conversation has a background turn once, whichever attempt ends it', async () => {
    const run = await launch(one, tenant, 'bg');
    const lease = await openConversation(one, tenant, 'c');
    const ending = endingOf('bg', { ...partsIn('c', lease), at: 3 });
    await Promise.all([one.runs.finish(run, ending), other.runs.finish(run, ending)]);
    await one.runs.finish(run, ending);
    expect(await seenIn(one, tenant, 'c')).toEqual(['a', ...contextFrom('bg')]);
  });

  it('a conversation has a turn once whose connection broke when it was saved', async () => {
    const url = new URL(opened.database.url);
    const proxy = await TcpProxy.open(Number(url.port));
    url.port = String(proxy.port);
    const single = await opened.replica({ DATABASE_URL: url.href, DATABASE_DIRECT_URL: '', DATABASE_POOL_SIZE: 1 });
    const lease = await openConversation(one, tenant, 'c');
    await single.responses.check();
    // The save waits in the database until its client is gone, and is repeated on another connection.
    await whileHolding(
      `UPDATE antiphon.conversations SET metadata = metadata WHERE owner = $1`,
      async () => single.responses.save(tenant, recordOf('r', partsIn('c', lease))),
      async () => {
        await proxy.cut();
        await proxy.restore();
      },
    );
    expect(await seenIn(one, tenant, 'c')).toEqual(['a', ...contextFrom('r')]);
    expect(await one.responses.get(tenant, 'r')).toBeDefined();
    await proxy.close();
  });

  it('conversations are freed once, by whichever replica, at the latest with the purge after that of their last response', async () => {
    await turnIn(one, tenant, 'c', 'r');
    await Promise.all([one.conversations.delete(tenant, 'c'), other.responses.delete(tenant, 'r', { cascade: false })]);
    await Promise.all([one.responses.purge(), other.responses.purge()]);
    // One may have looked at the conversation before the other freed the response.
    await one.responses.purge();
    const rows = await opened.database.query('SELECT FROM antiphon.conversation_items WHERE owner = $1', [tenant]);
    expect(rows).toEqual([]);
  });

  it('replicas agree on a secret that all want to make at once', async () => {
    const proposals = Array.from({ length: 20 }, (_, index) => `proposal ${index}`);
    const asked = proposals.map((proposal, index) =>
      (index % 2 === 0 ? one : other).secrets.getOrCreate('key', proposal),
    );
    const secrets = new Set(await Promise.all(asked));
    expect(secrets.size).toBe(1);
    expect(proposals).toContain([...secrets][0]);
    expect(await other.secrets.getOrCreate('key', 'late')).toBe([...secrets][0]);
    expect(await other.secrets.getOrCreate('another', 'first')).toBe('first');
  });

  it('a conversation of 10,000 items is listed to the end while turns are saved', async () => {
    const store: ConversationStore = one.conversations;
    const ids = Array.from({ length: 10_000 }, (_, index) => `item-${index}`);
    await createConversation(one, tenant, 'long', ...ids);
    await turnIn(one, tenant, 'long', 'r');
    expect(await listedIn(store, tenant, 'long')).toEqual([...ids, ...contextFrom('r')]);
    expect((await one.responses.chain(tenant, 'r'))?.items).toHaveLength(10_002);
    expect(await store.deleteItem(tenant, 'long', 'item-5000')).toMatchObject({ id: 'long' });
  });
});
