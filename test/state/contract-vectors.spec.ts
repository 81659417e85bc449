import { afterAll, describe, expect, it } from '@jest/globals';

import { stateContract } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { describeContract } from './describe-contract.js';
import { openSqlite, sqliteIn, threadOf } from './sqlite-fixture.js';

describeContract('vectors');

describe('sqlite without sqlite-vec', () => {
  const open = () => openSqlite(undefined, false);
  const groups = stateContract({ open, without: ['limits'] }).filter(({ contract }) => contract === 'vectors');

  describe.each(groups)('$name', ({ cases, close }) => {
    afterAll(close);
    it.each(cases)('$name', ({ run }) => run());
  });
});

describe('the start of sqlite', () => {
  it.each([
    [true, 'vectors are compared by sqlite-vec v0.'],
    [false, 'vectors are compared by the process'],
  ])('says what compares vectors (with sqlite-vec: %p)', async (usesExtension, words) => {
    await using opened = await openSqlite();
    await opened.backend.stop();
    using log = ServiceLog.begin();
    const { directory } = opened;
    const again = sqliteIn(directory);
    Object.assign(threadOf(again), { options: { directory, usesExtension } });
    await again.start();
    expect(log.notes.filter((line) => line.includes(words))).toHaveLength(1);
    await again.stop();
  });
});
