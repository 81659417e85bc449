import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

/** A function that is called during the start, and afterwards until V8 has optimized it, or twenty times as often as this should take. */
const PROGRAM = `
  import { endStart } from './dist/tune-engine.js';
  let total = 0;
  function add(number) {
    for (let step = 0; step < 3; step++) total += number;
    return total;
  }
  const isOptimized = () => (%GetOptimizationStatus(add) & 16) !== 0;
  const call = (times) => {
    for (let count = 0; count < times; count++) add(count);
  };
  call(6_000);
  const during = isOptimized();
  endStart();
  for (let round = 0; round < 80 && !isOptimized(); round++) call(200);
  console.log(JSON.stringify({ during, after: isOptimized() }));
`;

it('the engine optimizes what a start has called once it is called as often as other functions, and nothing before', async () => {
  // What is optimized in a thread is ready some time later.
  const args = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({ during: false, after: true });
});
