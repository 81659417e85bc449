import { describe, expect, it } from '@jest/globals';

import { FakeClock } from '../testing/index.js';
import { Interrupts } from './interrupts.js';

describe(Interrupts, () => {
  it('the process takes copies of the first Ctrl+C for the same one, and later ones for others', () => {
    const clock = new FakeClock();
    const done: string[] = [];
    const interrupts = new Interrupts(clock, { first: () => done.push('first'), again: () => done.push('again') });
    for (let copy = 0; copy < 3; copy += 1) interrupts.arrived();
    clock.advance(499);
    interrupts.arrived();
    expect(done).toEqual(['first']);
    clock.advance(1);
    interrupts.arrived();
    expect(done).toEqual(['first', 'again']);
  });
});
