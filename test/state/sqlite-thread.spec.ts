import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { DatabaseThread } from '../../src/state/sqlite/database-thread.js';
import { FakeClock } from '../../src/testing/index.js';

describe('the thread of a database', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('keeps what it was given', async () => {
    const open = (): DatabaseThread => new DatabaseThread({ directory }, new FakeClock());
    const first = open();
    await first.start();
    const both = [first.call('getOrCreateSecret', 'a', 'one'), first.call('getOrCreateSecret', 'a', 'two')];
    expect(await Promise.all(both)).toEqual(['one', 'one']);
    await first.stop();
    const second = open();
    await second.start();
    expect(await second.call('findSecret', 'a')).toBe('one');
    await second.stop();
  });
});
