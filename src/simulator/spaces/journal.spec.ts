import { describe, expect, it } from '@jest/globals';

import type { AskedTurn } from '../../responses/index.js';
import { Journal, JournalBudget, type JournalEntry } from './journal.js';

/** A request of about 2,000 bytes. */
function ask(journal: Journal, input: string): JournalEntry {
  const request = { input, filler: 'x'.repeat(950) };
  return journal.open({ request, transport: 'json' } as unknown as AskedTurn, 0);
}

const inputs = (journal: Journal): unknown => journal.entries.map(({ input }) => input);

describe('the journals of a process', () => {
  it('the journals of a process forget the oldest entries of all of them, and keep the newest', () => {
    const budget = new JournalBudget(7_000);
    const [one, two] = [new Journal(budget), new Journal(budget)];
    ask(one, 'a');
    ask(two, 'b');
    ask(one, 'c');
    expect([inputs(one), inputs(two)]).toEqual([['a', 'c'], ['b']]);
    ask(two, 'd');
    expect([inputs(one), inputs(two)]).toEqual([['c'], ['b', 'd']]);
    ask(two, 'e');
    expect([inputs(one), inputs(two)]).toEqual([['c'], ['d', 'e']]);
    ask(one, 'x'.repeat(10_000));
    expect([one.entries.length, two.entries.length]).toEqual([1, 0]);
  });

  it('the journals of a process have the room of what was cleared', () => {
    const budget = new JournalBudget(7_000);
    const [one, two] = [new Journal(budget), new Journal(budget)];
    for (const input of ['a', 'b', 'c']) ask(one, input);
    one.clear();
    for (const input of ['d', 'e', 'f']) ask(two, input);
    expect([inputs(one), inputs(two)]).toEqual([[], ['d', 'e', 'f']]);
  });

  it('the journals of a process count answers too, also of what they have forgotten meanwhile', () => {
    const budget = new JournalBudget(7_000);
    const [one, two] = [new Journal(budget), new Journal(budget)];
    const first = ask(one, 'a');
    const second = ask(two, 'b');
    const output = [{ type: 'message', id: 'm', content: [{ type: 'output_text', text: 'y'.repeat(2_000) }] }];
    const response = { output } as unknown as Parameters<Journal['close']>[2];
    two.close(second, 'completed', response);
    expect([inputs(one), inputs(two)]).toEqual([[], ['b']]);
    one.close(first, 'completed', response);
    expect([inputs(one), inputs(two)]).toEqual([[], ['b']]);
  });
});
