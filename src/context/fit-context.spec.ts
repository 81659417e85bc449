import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';

import type { Item } from '../protocol/index.js';
import { countItemTokens } from '../providers/index.js';
import { dropOldest, mayExceed, type UnfittedContext } from './fit-context.js';

/** Something of a transcript, before its items have ids. */
interface Step {
  readonly kind:
    'system' | 'developer' | 'user' | 'assistant' | 'reasoning' | 'call' | 'local_shell' | 'additional_tools';
  readonly words: number;
  /** Where the output of a call stands. */
  readonly place: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'user',
    'assistant',
    'user',
    'assistant',
    'reasoning',
    'call',
    'local_shell',
    'system',
    'developer',
    'additional_tools',
  ),
  words: fc.nat({ max: 400 }),
  place: fc.nat({ max: 100 }),
});

function toItem({ kind, words }: Step, index: number): Item {
  const id = `item_${index}`;
  const text = 'word '.repeat(words);
  switch (kind) {
    case 'reasoning':
      return { type: 'reasoning', id, summary: [], content: [{ type: 'reasoning_text', text }] };
    case 'call':
      return { type: 'function_call', id, call_id: `call_${index}`, name: 'look', arguments: text };
    case 'local_shell':
      return {
        type: 'local_shell_call',
        id,
        call_id: `call_${index}`,
        action: { type: 'exec', command: [text], env: {} },
      };
    case 'additional_tools':
      return {
        type: 'additional_tools',
        id,
        role: 'developer',
        tools: [{ type: 'custom', name: 'exec', description: text }],
      };
    default:
      return { type: 'message', id, role: kind, content: text };
  }
}

/** The output names its call by `call_id`, or by its own id. */
function toOutput({ kind, words }: Step, index: number): Item {
  const output = 'output '.repeat(words);
  return kind === 'call'
    ? { type: 'function_call_output', id: `output_${index}`, call_id: `call_${index}`, output }
    : { type: 'local_shell_call_output', id: `call_${index}`, output };
}

/** Any transcript; outputs stand anywhere, also before their calls. */
const transcript = fc.array(step, { minLength: 1, maxLength: 14 }).map((steps) => {
  const items = steps.map(toItem);
  for (const [index, made] of steps.entries()) {
    if (made.kind !== 'call' && made.kind !== 'local_shell') continue;
    items.splice(made.place % (items.length + 1), 0, toOutput(made, index));
  }
  return items;
});

const isSetting = ({ type }: Item): boolean => type === 'additional_tools';
const isInstruction = (item: Item): boolean =>
  isSetting(item) || (item.type === 'message' && (item['role'] === 'system' || item['role'] === 'developer'));

const pairOf = (item: Item): unknown => (item.type === 'local_shell_call_output' ? item.id : item['call_id']);

/** How many instructions a transcript begins with. */
function headLength(items: readonly Item[]): number {
  const length = items.findIndex((item) => !isInstruction(item));
  return length === -1 ? items.length : length;
}

/** What is left when a transcript begins at an item. */
function from(items: readonly Item[], start: number): readonly Item[] {
  const head = headLength(items);
  return [...items.slice(0, head), ...items.slice(head, start).filter(isSetting), ...items.slice(start)];
}

/** Whether a transcript may begin there: nothing is torn apart. */
function mayBeginAt(items: readonly Item[], start: number): boolean {
  const before = new Set<unknown>(
    items
      .slice(0, start)
      .map(pairOf)
      .filter((pair) => pair !== undefined),
  );
  const isTorn = items.slice(start).some((item) => before.has(pairOf(item)));
  return !isTorn && items[start - 1]?.type !== 'reasoning';
}

/** A transcript that could be left. */
interface Candidate {
  readonly items: readonly Item[];
  readonly beginsWithUser: boolean;
}

/** Every transcript that could be left, longest first. */
function candidates(items: readonly Item[]): readonly Candidate[] {
  const head = headLength(items);
  const starts = [...items.keys()].filter((start) => start > head && mayBeginAt(items, start));
  return [
    { items, beginsWithUser: true },
    ...starts.map((start) => ({ items: from(items, start), beginsWithUser: items[start]?.['role'] === 'user' })),
  ];
}

const fitted = fc.record({
  items: transcript,
  settings: fc.nat({ max: 200 }),
  fraction: fc.double({ min: 0.02, max: 0.99, noNaN: true }),
  maxOutputTokens: fc.option(fc.nat({ max: 500 })),
});

/** Counts items, and those with settings of so many tokens. */
function countWith(settings: number): Pick<UnfittedContext, 'countInput' | 'count'> {
  return {
    countInput: async (items, limit) => settings + (await countItemTokens(items, { limit: limit - settings })),
    count: (items, limit) => countItemTokens(items, { limit }),
  };
}

describe(dropOldest.name, () => {
  it('dropOldest leaves the end of a transcript that fits, and tears nothing apart', async () => {
    await fc.assert(
      fc.asyncProperty(fitted, async ({ items, settings, fraction, maxOutputTokens }) => {
        const tokens = settings + (await countItemTokens(items));
        const window = Math.max(1, Math.floor(tokens * fraction));
        const left = await dropOldest({ items, window, maxOutputTokens, approvalsFrom: 0, ...countWith(settings) });
        const all = candidates(items);
        const sizes = await Promise.all(all.map(async (left) => settings + (await countItemTokens(left.items))));
        if (left === undefined) {
          expect(Math.min(...sizes)).toBeGreaterThan(window);
          return;
        }
        const chosen = all.findIndex((candidate) => candidate.items.length === left.length);
        expect(all[chosen]?.items.map(({ id }) => id)).toEqual(left.map(({ id }) => id));
        expect(sizes[chosen]).toBeLessThanOrEqual(window);
        // No answer needs more than half; beyond that only so much is dropped that the user begins.
        const enough = sizes.findIndex((size) => size <= window / 2);
        const last = all.findIndex((candidate, index) => index >= enough && candidate.beginsWithUser);
        if (enough !== -1) expect(chosen).toBeLessThanOrEqual(last === -1 ? enough : last);
      }),
      { numRuns: 300 },
    );
  });

  it('dropOldest keeps the instructions at the beginning, and the latest item', async () => {
    await fc.assert(
      fc.asyncProperty(fitted, async ({ items, settings, fraction, maxOutputTokens }) => {
        const tokens = settings + (await countItemTokens(items));
        const window = Math.max(1, Math.floor(tokens * fraction));
        const left =
          (await dropOldest({ items, window, maxOutputTokens, approvalsFrom: 0, ...countWith(settings) })) ?? items;
        const head = headLength(items);
        expect(left.slice(0, head)).toEqual(items.slice(0, head));
        expect(left.at(-1)).toBe(items.at(-1));
      }),
    );
  });

  it('dropOldest leaves as much where calls use an id again as where each has its own', async () => {
    const rounds = (idOf: (round: number) => string): Item[] =>
      Array.from({ length: 40 }, (_, round) => {
        const call = { ...toItem({ kind: 'call', words: 20, place: 0 }, round), call_id: idOf(round) };
        return [
          { ...toItem({ kind: 'user', words: 20, place: 0 }, round), id: `user_${round}` },
          call,
          { type: 'function_call_output', id: `output_${round}`, call_id: idOf(round), output: 'done' },
          { ...toItem({ kind: 'assistant', words: 20, place: 0 }, round), id: `said_${round}` },
        ];
      }).flat();
    const fit = async (items: readonly Item[]) =>
      (await dropOldest({ items, window: 1500, maxOutputTokens: null, approvalsFrom: 0, ...countWith(0) }))?.map(
        ({ id }) => id,
      );
    const own = await fit(rounds((round) => `call_${round}`));
    expect(own?.length).toBeGreaterThan(20);
    expect(await fit(rounds(() => 'call_1'))).toEqual(own);
  });

  it('dropOldest drops an asynchronous call whose output came late, which is a message then', async () => {
    const call: Item = { ...toItem({ kind: 'call', words: 9, place: 0 }, 0), async: true };
    const users = Array.from({ length: 20 }, (_, index) => toItem({ kind: 'user', words: 97, place: 0 }, index + 1));
    const late = toOutput({ kind: 'call', words: 1, place: 0 }, 0);
    const fit = (items: readonly Item[]): Promise<readonly Item[] | undefined> =>
      dropOldest({ items, window: 1000, maxOutputTokens: null, approvalsFrom: 0, ...countWith(0) });
    const left = (await fit([call, ...users, late])) ?? [];
    expect(left.length).toBeLessThan(8);
    expect(left.slice(0, -1)).toEqual(users.slice(1 - left.length));
    expect(left.at(-1)).toEqual({
      id: late.id,
      type: 'message',
      role: 'user',
      status: 'completed',
      content: [
        { type: 'input_text', text: 'Output of look, call call_0:' },
        { type: 'input_text', text: 'output ' },
      ],
    });
    // One that followed at once stays with its call, and so does a late one whose call is left.
    const recent = [...users, call, late, toItem({ kind: 'user', words: 1, place: 0 }, 30)];
    expect((await fit(recent))?.slice(-3)).toEqual(recent.slice(-3));
    const between = [...users, call, toItem({ kind: 'user', words: 1, place: 0 }, 30), late];
    expect((await fit(between))?.slice(-3)).toEqual(between.slice(-3));
  });

  it('dropOldest leaves as much room as the request asks for, but no more than half of the window', async () => {
    const items = Array.from({ length: 100 }, (_, index) => toItem({ kind: 'user', words: 97, place: 0 }, index));
    const roomFor = async (maxOutputTokens: number | null): Promise<number> => {
      const left =
        (await dropOldest({ items, window: 8000, maxOutputTokens, approvalsFrom: 0, ...countWith(0) })) ?? [];
      return 8000 - (await countItemTokens(left));
    };
    expect(await roomFor(2000)).toBeGreaterThanOrEqual(2000);
    expect(await roomFor(2000)).toBeLessThan(2200);
    expect(await roomFor(null)).toBeGreaterThanOrEqual(4000);
    expect(await roomFor(null)).toBeLessThan(4200);
    expect(await roomFor(1_000_000)).toBeLessThan(4200);
    expect(await roomFor(16)).toBeGreaterThanOrEqual(500);
  });
});

describe(mayExceed.name, () => {
  it('mayExceed never takes what is too long for short', async () => {
    await fc.assert(
      fc.asyncProperty(transcript, fc.nat({ max: 3000 }), async (items, limit) => {
        if ((await countItemTokens(items)) > limit) expect(mayExceed(limit, items)).toBe(true);
      }),
    );
  });

  it('mayExceed does not write out what is too long', () => {
    const toJSON = jest.fn(() => '');
    expect(mayExceed(1000, [{ type: 'message', content: [{ text: 'word '.repeat(1000) }], toJSON }])).toBe(true);
    expect(toJSON).not.toHaveBeenCalled();
  });

  it('mayExceed says at once that little is little', () => {
    expect(mayExceed(1000, ['a short text', null, { type: 'message', content: 'another' }])).toBe(false);
  });
});
