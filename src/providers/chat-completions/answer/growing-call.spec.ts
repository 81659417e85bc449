import { afterEach, describe, expect, it, jest } from '@jest/globals';

import { ToolTable } from '../tools/tool-table.js';
import { CallCollector } from './call-collector.js';

const PIECES = 2000;

/** A long piece of a string in which objects begin and end. */
const PIECE = `{\\"a\\": ${'x'.repeat(20)}}`;

/** Counts the characters that functions read which take time for each character of a text. */
function countWork(): () => number {
  let characters = 0;
  const watch = (owner: object, name: string, readBy: (self: unknown, first: unknown) => unknown): void => {
    const method = Reflect.get(owner, name) as (...values: unknown[]) => unknown;
    const watched = function (this: unknown, ...values: unknown[]): unknown {
      characters += String(readBy(this, values[0])).length;
      return Reflect.apply(method, this, values);
    };
    jest.spyOn(owner as Record<string, () => unknown>, name).mockImplementation(watched);
  };
  for (const [owner, name] of [
    [JSON, 'parse'],
    [RegExp.prototype, 'test'],
    [String.prototype, 'startsWith'],
  ] as const)
    watch(owner, name, (_, text) => text);
  for (const name of ['replace', 'split', 'trim', 'trimEnd']) watch(String.prototype, name, (text) => text);
  return () => characters;
}

describe('long arguments of a call', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each<[form: string, membersOf: (number: number) => object]>([
    ['an index of its own', (index) => ({ index })],
    ['an id of its own', (number) => ({ index: 0, id: `call_${number}` })],
    ['the id and the name again', () => ({ index: 0, id: 'call_0', name: 'write' })],
    ['nothing but the arguments', () => ({})],
  ])('long arguments of a call are read a bounded number of times where each piece has %s', (_, membersOf) => {
    const tools = new ToolTable([{ type: 'function', name: 'write' }], []);
    const calls = new CallCollector(tools, new Set(), () => 'call_new');
    const pieces = ['{"code":"', ...Array.from({ length: PIECES }, () => PIECE), '"}'];
    const [first, ...others] = pieces.map((json, number) => ({ ...membersOf(number), arguments: json }));
    const work = countWork();
    calls.add([{ ...first, id: 'call_0', name: 'write' }]);
    for (const other of others) calls.add([other]);
    const { events, areWhole } = calls.close(false);
    const done = work();
    jest.restoreAllMocks();
    expect([areWhole, events.at(-1)]).toEqual([true, { type: 'end', key: 'call 0' }]);
    expect(done).toBeLessThan(10 * pieces.join('').length);
  });
});
