import type { ModelEvent } from '../../src/index.js';
import type { Script } from '../../src/testing/index.js';

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

const call = { type: 'function_call', name: 'look', key: 'c' };
const search = { type: 'web_search_call', status: 'in_progress' };
const openSearch = { type: 'item.open', key: 's', item: search };
const event = (type: string, members: object = {}): object => ({
  type: 'item.event',
  key: 's',
  event: { type: `response.${type}`, ...members },
});
const opened = (type: string, ...more: readonly unknown[]): readonly unknown[] => [
  { type: 'item.open', key: 's', item: { type, status: 'in_progress' } },
  ...more,
];

const theirCall = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '' };
const openCall = { type: 'item.open', key: 's', item: theirCall };
const closed = (item: object): object => ({ type: 'item.close', key: 's', item });
const filler = (length: number): string => 'x'.repeat(length);

/** Events that only the service itself may send. */
const FORGED = [
  'response.created',
  'response.completed',
  'response.failed',
  'response.output_item.done',
  'response.output_text.delta',
  'response.reasoning.delta',
  'response.mcp_call.completed',
  'error',
  'keepalive',
];

/** What a provider must not yield once the turn has begun. Each array is one batch. */
export const NONSENSE: readonly (readonly [what: string, batch: unknown])[] = [
  ['null', null],
  ['undefined', undefined],
  ['a number', 42],
  ['a bare text', 'Hello'],
  ['an object without a type', {}],
  ['an unknown type', { type: 'telepathy' }],
  ['a type that every object has', { type: 'constructor' }],
  ['a type that is no text', { type: { toString: () => 'text' } }],
  ['null in a batch', [null]],
  ['a batch in a batch', [[{ type: 'text', delta: 'x' }]]],
  ['a text delta that is a number', { type: 'text', delta: 5 }],
  ['a text without a delta', { type: 'text' }],
  ['a refusal that is an object', { type: 'refusal', delta: {} }],
  ['reasoning that is null', { type: 'reasoning', delta: null }],
  ['a summary part that is skipped', { type: 'reasoning_summary', delta: 'x', part: 5 }],
  ['a summary part that is a text', { type: 'reasoning_summary', delta: 'x', part: 'one' }],
  ['encrypted reasoning that is a number', { type: 'reasoning_encrypted', content: 1 }],
  ['an annotation that is null', { type: 'annotation', annotation: null }],
  ['an annotation that is a text', { type: 'annotation', annotation: 'see there' }],
  ['an annotation that is a list', { type: 'annotation', annotation: [] }],
  ['an annotation with a BigInt', { type: 'annotation', annotation: { type: 'file_path', index: 1n } }],
  ['an annotation with a cycle', { type: 'annotation', annotation: cyclic }],
  ['logprobs that are a number', { type: 'text', delta: 'x', logprobs: 5 }],
  ['logprobs that are a text', { type: 'text', delta: 'x', logprobs: 'abc' }],
  ['logprobs with a BigInt', { type: 'text', delta: 'x', logprobs: [{ logprob: 1n }] }],
  ['logprobs with a cycle', { type: 'text', delta: 'x', logprobs: [cyclic] }],
  ['a call without a name', { type: 'function_call' }],
  ['a call with an empty name', { type: 'function_call', name: '' }],
  ['a call with an empty id', { type: 'function_call', name: 'look', callId: '' }],
  ['a call whose id is a number', { type: 'function_call', name: 'look', callId: 7 }],
  ['a call whose namespace is a BigInt', { type: 'function_call', name: 'look', namespace: 1n }],
  ['arguments without a call', { type: 'function_call_arguments', delta: '{}' }],
  ['arguments for an unknown key', [call, { type: 'function_call_arguments', delta: '{}', key: 'other' }]],
  ['arguments that are an object', [call, { type: 'function_call_arguments', delta: {}, key: 'c' }]],
  ['the input of a custom tool for a function', [call, { type: 'custom_tool_call_input', delta: 'x', key: 'c' }]],
  ['text for the key of a call', [call, { type: 'text', delta: 'x', key: 'c' }]],
  ['the same key twice', [call, call]],
  ['the end of an unknown key', { type: 'end', key: 'nobody' }],
  ['negative usage', { type: 'usage', input: -1 }],
  ['usage in fractions', { type: 'usage', output: 1.5 }],
  ['usage that is not a number', { type: 'usage', output: NaN }],
  ['usage that is a text', { type: 'usage', input: '7' }],
  ['usage that is a BigInt', { type: 'usage', input: 7n }],
  ['an unknown reason to finish', { type: 'finish', reason: 'boredom' }],
  ['a reason that every object has', { type: 'finish', reason: 'toString' }],
  ['no reason to finish', { type: 'finish' }],
  ['an item that is null', { type: 'item.open', key: 's', item: null }],
  ['an item without a type', { type: 'item.open', key: 's', item: {} }],
  ['a call of an upstream without a name', { type: 'item.open', key: 's', item: { type: 'function_call' } }],
  [
    'a call of an upstream with a long id',
    { type: 'item.open', key: 's', item: { ...theirCall, call_id: filler(65) } },
  ],
  ['a passed event within a message', opened('message', event('output_text.delta', { delta: 'x' }))],
  ['a call that ends as another one', [openCall, closed({ ...theirCall, call_id: 'call_2' })]],
  ['a call that ends as a message', [openCall, closed({ type: 'message', content: [] })]],
  ['a final form of an item that is not open', closed(search)],
  ['a part of a text that is skipped', { type: 'text', delta: 'x', part: 2, key: 't' }],
  ['a part of reasoning that is skipped', { type: 'reasoning', delta: 'x', part: 1, key: 't' }],
  ['an event without a name', { type: 'event', event: {} }],
  ['an event that is nothing', { type: 'event', event: null }],
  ['an event that cannot be JSON', { type: 'event', event: { type: 'codex.odd', size: 1n } }],
  ...FORGED.map((type) => [`a forged ${type}`, { type: 'event', event: { type, response: {} } }] as const),
  ['a reason of an incomplete response that is no text', { type: 'finish', reason: 'length', incompleteReason: 7 }],
  ['a service tier without a name', { type: 'finish', reason: 'stop', serviceTier: '' }],
  ['an item with a BigInt', { type: 'item.open', key: 's', item: { ...search, size: 1n } }],
  ['an item with a cycle', { type: 'item.open', key: 's', item: { ...search, cyclic } }],
  ['an event of an item that is not open', event('web_search_call.searching')],
  ['an event of another family', [openSearch, event('file_search_call.searching')]],
  ['an event of the response itself', [openSearch, event('completed', { response: {} })]],
  ['an event of a native item', [openSearch, event('output_text.delta', { delta: 'x' })]],
  ['an event without a type', [openSearch, { type: 'item.event', key: 's', event: {} }]],
  ['an event that is null', [openSearch, { type: 'item.event', key: 's', event: null }]],
  ['an event with a BigInt', [openSearch, event('web_search_call.searching', { size: 1n })]],
  ['an event with a cycle', [openSearch, event('web_search_call.searching', { cyclic })]],
  ['a passed delta without its text', opened('mcp_call', event('mcp_call_arguments.delta'))],
  ['a passed delta that is a number', opened('mcp_call', event('mcp_call_arguments.delta', { delta: 5 }))],
  ['a passed image without its data', opened('image_generation_call', event('image_generation_call.partial_image'))],
  ['an item that ends as another type', [openSearch, { type: 'item.close', key: 's', item: { type: 'mcp_call' } }]],
  ['an item that ends as null', [openSearch, { type: 'item.close', key: 's', item: null }]],
  ['an item that ends in a cycle', [openSearch, { type: 'item.close', key: 's', item: { ...search, cyclic } }]],
  ['an item that ends twice', [openSearch, ...[1, 2].map(() => ({ type: 'item.close', key: 's', item: search }))]],
];

/** How a provider may end before it yields anything, as `for await` sees it: an iterator need not promise its results. */
export const SILENT_ENDS: readonly (readonly [what: string, generate: () => unknown])[] = [
  ['ends without output', () => yieldsThen([])],
  ['ends without a promise', () => ({ [Symbol.asyncIterator]: () => ({ next: () => ({ done: true }) }) })],
];

/** How a provider may fail before it yields anything. None of it is told to the client. */
export const FALSE_STARTS: readonly (readonly [what: string, generate: () => unknown])[] = [
  ['throws at once', () => fail()],
  ['throws before the first yield', () => yieldsThen([], fail)],
  ['throws a text', () => yieldsThen([], () => throwThis('secret'))],
  ['throws null', () => yieldsThen([], () => throwThis(null))],
  ['gives undefined', () => undefined],
  ['gives null', () => null],
  ['gives a list', () => [{ type: 'text', delta: 'x' }]],
  ['gives a promise', () => Promise.resolve([])],
  ['gives a broken iterable', () => ({ [Symbol.asyncIterator]: () => null })],
  ['gives an iterator without next', () => ({ [Symbol.asyncIterator]: () => ({}) })],
  ['gives an iterator that throws', () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) })],
  ['begins with nonsense', () => yieldsThen([null])],
  ...SILENT_ENDS,
];

const FILLER = filler(50);

/** Output without end: what is yielded again and again. */
export const ENDLESS: readonly (readonly [what: string, batch: (round: number) => readonly unknown[]])[] = [
  ['text', () => [{ type: 'text', delta: FILLER }]],
  ['refusals', () => [{ type: 'refusal', delta: FILLER }]],
  ['reasoning', () => [{ type: 'reasoning', delta: FILLER }]],
  ['encrypted reasoning', () => [{ type: 'reasoning_encrypted', content: FILLER }]],
  ['summaries', (part) => [{ type: 'reasoning_summary', delta: FILLER, part }]],
  [
    'arguments',
    (round) => [...(round === 0 ? [call] : []), { type: 'function_call_arguments', delta: FILLER, key: 'c' }],
  ],
  ['calls', () => [{ type: 'function_call', name: FILLER }]],
  ['annotations', () => [{ type: 'annotation', annotation: { type: 'file_path', file_id: FILLER, index: 0 } }]],
  [
    'logprobs',
    () => [
      { type: 'text', delta: '', logprobs: [] },
      { type: 'text', delta: 'x', logprobs: [{ token: FILLER }] },
    ],
  ],
  [
    'items',
    (round) => [
      { type: 'item.open', key: `${round}`, item: { ...search, query: FILLER } },
      { type: 'end', key: `${round}` },
    ],
  ],
  [
    'final forms of messages',
    (round) => [
      { type: 'item.open', key: `${round}`, item: { type: 'message' } },
      {
        type: 'item.close',
        key: `${round}`,
        item: { type: 'message', content: [{ type: 'output_text', text: 'x', by: FILLER }] },
      },
    ],
  ],
  ['members of messages', (round) => [{ type: 'item.open', key: `${round}`, item: { type: 'message', by: FILLER } }]],
  [
    'passed deltas',
    (round) => [...(round === 0 ? opened('mcp_call') : []), event('mcp_call_arguments.delta', { delta: FILLER })],
  ],
];

/** A script that begins well, then yields what no provider may yield. */
export function startsWellThen(batch: unknown): Script {
  return () => yieldsThen([{ type: 'text', delta: 'before' }, batch]);
}

/** A generator of anything at all, typed as what the service expects. */
export async function* yieldsThen(batches: Iterable<unknown>, end?: () => unknown): AsyncGenerator<ModelEvent> {
  for (const batch of batches) yield batch as ModelEvent;
  await end?.();
}

function fail(): never {
  throw new Error('secret of the provider');
}

function throwThis(value: unknown): never {
  throw value;
}
