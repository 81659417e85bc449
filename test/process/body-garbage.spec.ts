import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

const MEGABYTE = 1024 * 1024;

/** A process of its own, whose heap is small enough to be collected, and which has nothing to collect of itself. */
const PROGRAM = `
  import { BodyGarbage } from './dist/http/bodies/body-garbage.js';
  import { FakeClock } from './dist/testing/index.js';
  const clock = new FakeClock();
  const garbage = new BodyGarbage(clock);
  const left = new WeakRef({});
  // What was just referred to is kept until the next turn of the loop.
  await new Promise(setImmediate);
  garbage.add(63 * ${MEGABYTE});
  garbage.rest();
  const ofLittle = clock.pending;
  garbage.add(${MEGABYTE});
  garbage.rest();
  clock.advance(9_999);
  garbage.add(1);
  const ofBusy = clock.pending;
  garbage.rest();
  clock.advance(9_999);
  const waiting = clock.pending;
  clock.advance(1);
  console.log(JSON.stringify({ ofLittle, ofBusy, waiting, left: left.deref() ?? null, gc: typeof gc }));
`;

it('the process collects what large bodies have left once none has come for ten seconds', async () => {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({ ofLittle: 0, ofBusy: 0, waiting: 1, left: null, gc: 'undefined' });
});
