import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import type { Tenant } from '../../src/access/index.js';
import { BOOKMARK_MS } from '../../src/state/bookmark.js';
import { RedisKeys } from '../../src/state/redis/keys.js';
import { createConversation, turnIn } from '../../src/testing/state/conversations.js';
import { append, message, newTenant, purge, START } from '../../src/testing/state/records.js';
import { endingOf, enqueue, launch } from '../../src/testing/state/runs.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { openRedis, type OpenedRedis } from './redis-fixture.js';

const url = process.env['TEST_REDIS_URL'] ?? '';
const HOUR_MS = 3_600_000;
/** How long keys outlive what they are about, so that the purge comes first. */
const GRACE_MS = 600_000;
/** More than unfinished responses are listed without being renewed. */
const TTL_MS = 48 * HOUR_MS;
const expiresAt = START + TTL_MS;
/** The slack of a lifetime and the time that the purge has. */
const KEPT_MS = TTL_MS * 1.125 + 660_000;

describe('keys in Redis', () => {
  let opened: OpenedRedis;
  let client: Client;
  let tenant: Tenant;
  let keys: RedisKeys;

  beforeEach(async () => {
    tenant = newTenant();
    client = new Client(url);
    opened = await openRedis();
    keys = new RedisKeys(opened.prefix);
  });
  afterEach(async () => {
    await opened.close();
    await client.quit();
  });

  /** All keys with how long they live, ms; without those of BullMQ, and what says that a process sweeps. */
  const lifetimes = async (): Promise<readonly (readonly [key: string, lifetime: number])[]> => {
    const found = await findKeys(url, `${opened.prefix}:*`);
    const ours = found.filter((key) => !key.startsWith(keys.jobs) && key !== keys.sweep);
    return Promise.all(ours.map(async (key) => [key, await client.pttl(key)] as const));
  };

  /** Those that would stay. */
  const tooLong = async (): Promise<readonly (readonly [string, number])[]> =>
    (await lifetimes()).filter(([, lifetime]) => lifetime < 0 || lifetime > KEPT_MS);

  /** Responses of every kind that have ended: with parents, in forks, of shared items, in the background, deleted. */
  const fill = async (): Promise<void> => {
    const { responses, runs, sessions, conversations } = opened.backend;
    const input = [message('shared')];
    await append(responses, tenant, 'a', { expiresAt, input });
    await append(responses, tenant, 'b', { expiresAt, input, parentId: 'a', sessionId: 'other' });
    await sessions.fork(tenant, { sourceId: 'a', targetId: 'fork' });
    for (const id of ['bg1', 'bg2']) {
      const run = await launch(opened.backend, tenant, id, {
        input: [...input, message(`${id}-own`)],
        sessionId: 'bg',
      });
      await sessions.fork(tenant, { sourceId: 'bg', targetId: `fork-${id}` });
      await runs.finish(run, endingOf(id, { expiresAt, logExpiresAt: expiresAt }));
    }
    await append(responses, tenant, 'deleted', { expiresAt });
    await append(responses, tenant, 'child', { expiresAt, parentId: 'deleted' });
    await responses.delete(tenant, 'deleted', { cascade: false });
    await launch(opened.backend, tenant, 'queued', { sessionId: 'queued' });
    await responses.delete(tenant, 'queued', { cascade: false });
    await createConversation(opened.backend, tenant, 'c', 'first');
    await turnIn(opened.backend, tenant, 'c', 'turn', { expiresAt });
    await conversations.delete(tenant, 'c');
  };

  it('keys live no longer than the responses that have ended, also when nobody purges', async () => {
    await fill();
    expect((await lifetimes()).length).toBeGreaterThan(30);
    expect(await tooLong()).toEqual([]);
  });

  it('the keys of purged responses are all gone, but for bookmarks and what finds them', async () => {
    await fill();
    // What it continues is kept for a year when nobody purges.
    const continued = await launch(opened.backend, tenant, 'bg3', { parentId: 'a', sessionId: 'a' });
    await opened.backend.runs.finish(continued, endingOf('bg3', { expiresAt, logExpiresAt: expiresAt }));
    opened.clock.advance(TTL_MS);
    await purge(opened.backend.responses);
    const left = await lifetimes();
    expect(left.map(([key]) => key).filter((key) => !/:gone:|:at:/.test(key))).toEqual([]);
    expect(left.length).toBeGreaterThan(0);
    expect(left.filter(([, lifetime]) => lifetime < 0 || lifetime > BOOKMARK_MS + GRACE_MS)).toEqual([]);
  });

  it('keys of items are gone when the responses are deleted', async () => {
    const { responses } = opened.backend;
    await append(responses, tenant, 'a', { expiresAt, input: [message('shared')] });
    await append(responses, tenant, 'b', { expiresAt, input: [message('shared')] });
    await responses.delete(tenant, 'a', { cascade: false });
    expect(await client.zcard(keys.holders(tenant, 'shared'))).toBe(1);
    expect(await client.exists(keys.holders(tenant, 'a-out'))).toBe(0);
    await responses.delete(tenant, 'b', { cascade: false });
    expect(await client.exists(keys.holders(tenant, 'shared'))).toBe(0);
  });

  it('keys of items and lists of a background response live as long as it when it has ended after days', async () => {
    const { responses, runs, sessions, graph } = opened.backend;
    const run = await launch(opened.backend, tenant, 'bg', { sessionId: 'bg' });
    await sessions.fork(tenant, { sourceId: 'bg', targetId: 'fork' });
    const lists = [
      keys.responsesOf(tenant),
      ...['bg', 'fork'].map((session) => keys.slot(tenant, session).members),
      ...['bg-in', 'bg-out'].map((item) => keys.holders(tenant, item)),
    ];
    // Redis has forgotten what was not renewed.
    await client.del(lists);
    await runs.finish(run, endingOf('bg', { expiresAt }));
    for (const list of lists) expect([list, (await client.pttl(list)) > TTL_MS]).toEqual([list, true]);
    const page = { limit: 10, order: 'asc' } as const;
    for (const sessionId of ['bg', 'fork']) {
      expect((await graph.list(tenant, { sessionId }, page)).data.map(({ id }) => id)).toEqual(['bg']);
    }
    expect(await responses.items(tenant, ['bg-in'])).toEqual(new Map([['bg-in', message('bg-in')]]));
  });

  it('keys of lists of an unfinished response are renewed', async () => {
    await enqueue(opened.backend.runs, tenant, 'bg', { sessionId: 'bg' });
    const lists = [keys.responsesOf(tenant), keys.slot(tenant, 'bg').members];
    await client.del(lists);
    opened.clock.advance(60_000);
    while ((await client.exists(lists)) < lists.length) await setImmediate();
    for (const list of lists) expect([list, await client.zcard(list)]).toEqual([list, 1]);
  });
});
