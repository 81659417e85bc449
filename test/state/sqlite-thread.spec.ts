import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { StoreUnavailableError } from '../../src/state/index.js';
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

  it('calls to the thread of a database that are made while others are executed cross to it in one message', async () => {
    const thread = new DatabaseThread({ directory }, new FakeClock());
    await thread.start();
    const post = jest.spyOn(Worker.prototype, 'postMessage');
    const answers: Promise<unknown>[] = [];
    // Each in a tick of its own, and no answer arrives in between.
    for (const name of ['first', 'second', 'third', 'fourth']) {
      answers.push(thread.call('secrets.getOrCreate', name, name));
      await Promise.resolve();
    }
    expect(await Promise.all(answers)).toEqual(['first', 'second', 'third', 'fourth']);
    await thread.stop();
    const messages = post.mock.calls.map(([message]) => message as unknown);
    post.mockRestore();
    const named = (...names: string[]): unknown =>
      names.map((name) => expect.objectContaining({ args: expect.arrayContaining([name]) as unknown }));
    expect(messages).toEqual([named('first'), named('second', 'third', 'fourth'), 'close']);
  });

  it('a call to the thread of a database that fails changes nothing, and those of its transaction are executed once', async () => {
    const thread = new DatabaseThread({ directory }, new FakeClock());
    await thread.start();
    const job = { queue: 'turns', id: 'job', data: '{}' } as const;
    const ends = await Promise.allSettled([
      thread.call('jobs.add', [job]),
      // It fails once its first job is stored: SQLite takes no object.
      thread.call('jobs.add', [
        { ...job, id: 'other' },
        { ...job, id: {} as string },
      ]),
      thread.call('jobs.add', [job]),
    ]);
    expect(ends).toEqual([
      { status: 'fulfilled', value: ['job'] },
      { status: 'rejected', reason: expect.any(StoreUnavailableError) as unknown },
      { status: 'fulfilled', value: [] },
    ]);
    expect((await thread.call('jobs.load')).map(({ id }) => id)).toEqual(['job']);
    await thread.stop();
  });

  it('a thread of a database that is closed executes what it was asked for while others are executed', async () => {
    const thread = new DatabaseThread({ directory }, new FakeClock());
    await thread.start();
    const first = thread.call('secrets.getOrCreate', 'a', 'one');
    await Promise.resolve();
    const second = thread.call('secrets.getOrCreate', 'b', 'two');
    await thread.stop();
    expect(await Promise.all([first, second])).toEqual(['one', 'two']);
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
