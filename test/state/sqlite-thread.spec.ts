import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { DatabaseThread } from '../../src/state/sqlite/database-thread.js';
import { FakeClock } from '../../src/testing/index.js';
import { createConversation } from '../../src/testing/state/conversations.js';
import { append, message, newTenant } from '../../src/testing/state/records.js';
import { openSqlite } from './sqlite-fixture.js';

describe('the thread of a database', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('the thread of a database keeps what it was given', async () => {
    const open = (): DatabaseThread => new DatabaseThread({ directory }, new FakeClock());
    const first = open();
    await first.start();
    const both = [first.call('secrets.getOrCreate', 'a', 'one'), first.call('secrets.getOrCreate', 'a', 'two')];
    expect(await Promise.all(both)).toEqual(['one', 'one']);
    await first.stop();
    const second = open();
    await second.start();
    expect(await second.call('secrets.find', 'a')).toBe('one');
    await second.stop();
  });

  it('the thread of a database gives back items that are nested deeper than an object can cross threads', async () => {
    const opened = await openSqlite();
    const { responses, conversations } = opened.backend;
    const depth = 2500;
    const nested: unknown = JSON.parse(`${'{"in":'.repeat(depth)}1${'}'.repeat(depth)}`);
    const item = { ...message('deep'), nested };
    const tenant = newTenant();
    await append(responses, tenant, 'r', { input: [item] });
    await createConversation(opened.backend, tenant, 'c');
    await conversations.append(tenant, 'c', [item]);
    const page = { limit: 2, order: 'asc' } as const;
    const given = [
      (await responses.inputItems(tenant, 'r', page))?.data,
      (await conversations.items(tenant, 'c', page))?.data,
      [await conversations.item(tenant, 'c', 'deep')],
    ];
    // As texts: jest cannot compare what is so deep.
    const text = JSON.stringify([item]);
    expect(given.map((items) => JSON.stringify(items) === text)).toEqual([true, true, true]);
    await opened.close();
  });
});
