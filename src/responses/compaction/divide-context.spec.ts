import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { callIdOf, type Item } from '../../protocol/index.js';
import { SequentialIdGenerator } from '../../testing/index.js';
import { divideContext } from './divide-context.js';
import { divideIntoParts } from './summary-parts.js';

const ids = new SequentialIdGenerator();

const message = (role: string, text: string): Item => ({
  id: ids.next('msg'),
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});

/** A turn of a model: reasoning, calls in any number and order with their outputs, and maybe a message. */
const turn = fc
  .record({ thinks: fc.boolean(), calls: fc.nat(3), isInterleaved: fc.boolean(), size: fc.nat(60), asks: fc.boolean() })
  .map(({ thinks, calls, isInterleaved, size, asks }): readonly Item[] => {
    const thought: Item[] = thinks ? [{ id: ids.next('rs'), type: 'reasoning', summary: [] }] : [];
    const pairs = Array.from({ length: calls }, (): readonly [Item, Item] => {
      const call_id = ids.next('call');
      return [
        { id: ids.next('fc'), type: 'function_call', call_id, name: 'f', arguments: '{}' },
        { id: ids.next('fco'), type: 'function_call_output', call_id, output: 'x'.repeat(size) },
      ];
    });
    const ordered = isInterleaved
      ? pairs.flat()
      : [...pairs.map(([call]) => call), ...pairs.map(([, output]) => output)];
    const said = calls === 0 || asks ? [message('user', 'y'.repeat(size))] : [];
    return [...thought, ...ordered, message('assistant', 'z'.repeat(size)), ...said];
  });

const context = fc.array(turn, { minLength: 1, maxLength: 6 }).map((turns) => turns.flat());

/** Whether no call is apart from its output, and no reasoning from what follows it. */
function isWhole(before: readonly Item[], after: readonly Item[]): boolean {
  const calls = new Set(before.map(callIdOf).filter((id) => id !== undefined));
  return before.at(-1)?.type !== 'reasoning' && !after.some((item) => calls.has(callIdOf(item) ?? ''));
}

describe('a context that is compacted', () => {
  it('a context that is compacted is divided without loss, and never between a call and its output', () => {
    fc.assert(
      fc.property(context, fc.nat(8), (items, added) => {
        const { settings, history, tail } = divideContext(items, items.slice(items.length - added), 0);
        expect([...settings, ...history, ...tail]).toEqual(items);
        expect(tail.length === 0 || isWhole(history, tail)).toBe(true);
      }),
    );
  });

  it('a context that is compacted keeps calls that still run with the reasoning and the calls of their answer', () => {
    const thought = (id: string): Item => ({ id, type: 'reasoning', summary: [] });
    const call = (id: string, over: object = {}): Item => ({ id, type: 'function_call', call_id: id, ...over });
    const output = (id: string): Item => ({ id: `of_${id}`, type: 'function_call_output', call_id: id, output: '' });
    const [first, last] = [message('user', 'one'), message('assistant', 'two')];
    const running = [thought('r1'), thought('r2'), call('a', { async: true }), call('b')];
    const items = [first, ...running, output('b'), thought('r3'), call('c'), output('c'), thought('r4'), last];
    const { history, tail } = divideContext(items, null, 0);
    expect(tail).toEqual([...running, output('b')]);
    expect(history).toEqual(items.filter((item) => !tail.includes(item)));
    const done = [first, ...running, thought('r3'), last, output('a'), output('b')];
    expect(divideContext(done, null, 0)).toMatchObject({ history: done, tail: [] });
    expect(divideContext([...running.slice(0, 3), thought('r3'), last], null, 0).history).toEqual([
      thought('r3'),
      last,
    ]);
  });

  it('a context that is compacted keeps the call that waits, and not the outputs of earlier calls with its id', () => {
    const call = (id: string): Item => ({ id, type: 'function_call', call_id: 'call_0', name: 'f', arguments: '{}' });
    const output = (id: string): Item => ({ id, type: 'function_call_output', call_id: 'call_0', output: '' });
    const before = [message('user', 'one'), call('a'), output('b'), call('c'), output('d'), message('user', 'two')];
    expect(divideContext([...before, call('e')], null, 0)).toEqual({
      settings: [],
      history: before,
      tail: [call('e')],
    });
    const asking: Item = { id: 'mcpr', type: 'mcp_approval_request', name: 'g', arguments: '{}' };
    const beside = [call('e'), asking, output('f')];
    expect(divideContext([...before, ...beside], null, 0).tail).toEqual(beside);
  });

  it('a history is summarised although a call in it has its output late, or gets it now', async () => {
    const call: Item = { id: 'fc', type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', async: true };
    const late: Item = { id: 'fco', type: 'function_call_output', call_id: 'c', output: 'built' };
    const [first, next] = [message('user', 'one'), message('assistant', 'two')];
    const divided = divideContext([first, call, next, late], [late], 0);
    expect(divided).toEqual({ settings: [], history: [first, next], tail: [call, late] });
    const question = message('user', 'three');
    const later = divideContext([first, call, next, late, question], [question], 0);
    expect(later).toEqual({ settings: [], history: [first, call, next, late], tail: [question] });
    const parts = await divideIntoParts(later.history, { room: 1, count: async (some) => some.length, ids });
    expect(parts.slice(0, 3)).toEqual([[first], [call], [next]]);
    expect(parts.slice(3)).toEqual([[expect.objectContaining({ type: 'message', role: 'user' })]]);
  });

  it('a context that is compacted is read in parts without seals', async () => {
    const reasoning: Item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed'.repeat(100) };
    const count = async (some: readonly Item[]): Promise<number> => JSON.stringify(some).length;
    const parts = await divideIntoParts([reasoning, message('assistant', 'z'.repeat(400))], { room: 250, count, ids });
    expect(JSON.stringify(parts)).toContain('zzz');
    expect(JSON.stringify(parts)).not.toContain('sealed');
  });

  it('a context that is compacted is read in parts that fit, in order, with calls and their outputs together', async () => {
    const room = 200;
    const count = async (some: readonly Item[]): Promise<number> =>
      some.reduce((sum, item) => sum + 10 + JSON.stringify(item.content ?? item.output ?? '').length, 0);
    await fc.assert(
      fc.asyncProperty(context, async (items) => {
        const parts = await divideIntoParts(items, { room, count, ids });
        for (const part of parts) expect(await count(part)).toBeLessThanOrEqual(room);
        const known = new Set(items);
        const whole = parts.map((part) => part.filter((item) => known.has(item)));
        expect(items.filter((item) => whole.flat().includes(item))).toEqual(whole.flat());
        for (const part of whole)
          expect(
            isWhole(
              part,
              whole.flat().filter((item) => !part.includes(item)),
            ),
          ).toBe(true);
      }),
    );
  });
});
