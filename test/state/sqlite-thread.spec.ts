import { mkdtemp, rm } from 'node:fs/promises';
import { BlockList } from 'node:net';
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

/** An array of arrays, deeper than an object can be copied. */
function deepArray(): unknown {
  let nested: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) nested = [nested];
  return nested;
}

/** An object that can be sent to a thread, and that no thread can read: Node looks for a class of its own by the name that a copy states. */
function unreadable(): unknown {
  const members = Object.getOwnPropertySymbols(BlockList.prototype);
  const clone = members.find(({ description }) => description === 'messaging_clone_symbol');
  const copy = (): object => ({ data: {}, deserializeInfo: 'internal/blocklist:Unknown' });
  return Object.defineProperty(new BlockList(), clone ?? '', { value: copy });
}

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

  it.each([
    ['is nested too deep to be sent', deepArray, /cannot be copied to the thread of the database \(RangeError/],
    ['cannot be sent at all', () => () => 1, /cannot be copied to the thread of the database \(DataCloneError/],
    ['the thread cannot read', unreadable, /cannot be copied to the thread of the database \(Error: Unknown/],
  ])('a call to the thread of a database with a value that %s fails alone', async (_, make, reason) => {
    const thread = new DatabaseThread({ directory }, new FakeClock());
    await thread.start();
    const bad = (): Promise<unknown> => thread.call('secrets.getOrCreate', 'bad', make() as string);
    const refused = { name: 'StoreUnavailableError', message: expect.stringMatching(reason) as unknown };
    await expect(bad()).rejects.toMatchObject(refused);
    const together = [thread.call('secrets.getOrCreate', 'a', 'one'), bad(), thread.call('secrets.find', 'a')];
    expect(await Promise.allSettled(together)).toEqual([
      { status: 'fulfilled', value: 'one' },
      { status: 'rejected', reason: expect.objectContaining(refused) as unknown },
      { status: 'fulfilled', value: 'one' },
    ]);
    expect(await thread.call('secrets.find', 'bad')).toBeUndefined();
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
