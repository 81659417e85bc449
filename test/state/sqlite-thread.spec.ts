import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { DatabaseThread } from '../../src/state/sqlite/database-thread.js';

describe('the thread of a database', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('keeps what it was given', async () => {
    const options = { file: join(directory, 'state.sqlite') };
    const first = new DatabaseThread();
    await first.start(options);
    const both = [first.call('getOrCreateSecret', 'a', 'one'), first.call('getOrCreateSecret', 'a', 'two')];
    expect(await Promise.all(both)).toEqual(['one', 'one']);
    await first.stop();
    const second = new DatabaseThread();
    await second.start(options);
    expect(await second.call('findSecret', 'a')).toBe('one');
    await second.stop();
  });
});
