import { describe, expect, it } from '@jest/globals';

import { RESPONSE_MEMBERS } from './event-fields.js';
import { checkEventOrder } from './event-order.js';

type Json = Record<string, unknown>;

const usage = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 7,
};
const blank = Object.fromEntries(RESPONSE_MEMBERS.map((member) => [member, null]));
const started = { ...blank, id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
const logprob = { token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] };
const annotation = { type: 'url_citation', start_index: 0, end_index: 2, url: 'https://example.com', title: 'T' };
const doneText = { type: 'output_text', text: 'Hi there', annotations: [annotation], logprobs: [logprob] };
const doneSummary = { type: 'summary_text', text: 'Thinking' };
const reasoning = { id: 'rs_1', type: 'reasoning', summary: [doneSummary] };
const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [doneText] };
const call = {
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'look',
  arguments: '{}',
};
const search = { id: 'ws_1', type: 'web_search_call', status: 'completed' };
const inSummary = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
const inText = { item_id: 'msg_1', output_index: 1, content_index: 0 };
const inCall = { item_id: 'fc_1', output_index: 2 };
const inSearch = { item_id: 'ws_1', output_index: 3 };
const padding = (delta: string): string => 'x'.repeat(16 - (delta.length % 16));

/** A stream without a fault, made anew so that a test may break it. Without sequence numbers. */
function goodStream(): Json[] {
  const delta = (text: string): Json => ({ delta: text, obfuscation: padding(text) });
  return structuredClone<Json[]>([
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [] } },
    { type: 'response.reasoning_summary_part.added', ...inSummary, part: { ...doneSummary, text: '' } },
    { type: 'response.reasoning_summary_text.delta', ...inSummary, ...delta('Thinking') },
    { type: 'response.reasoning_summary_text.done', ...inSummary, text: 'Thinking' },
    { type: 'response.reasoning_summary_part.done', ...inSummary, part: doneSummary },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.output_item.added', output_index: 1, item: { ...message, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...inText, part: { ...doneText, text: '', annotations: [], logprobs: [] } },
    { type: 'response.output_text.delta', ...inText, ...delta('Hi'), logprobs: [logprob] },
    { type: 'response.output_text.annotation.added', ...inText, annotation_index: 0, annotation },
    { type: 'response.output_text.delta', ...inText, ...delta(' there'), logprobs: [] },
    { type: 'response.output_text.done', ...inText, text: 'Hi there', logprobs: [logprob] },
    { type: 'response.content_part.done', ...inText, part: doneText },
    { type: 'response.output_item.done', output_index: 1, item: message },
    { type: 'response.output_item.added', output_index: 2, item: { ...call, status: 'in_progress', arguments: '' } },
    { type: 'response.output_item.added', output_index: 3, item: { ...search, status: 'in_progress' } },
    { type: 'response.web_search_call.searching', ...inSearch },
    { type: 'response.function_call_arguments.delta', ...inCall, ...delta('{}') },
    { type: 'response.function_call_arguments.done', ...inCall, arguments: '{}' },
    { type: 'response.output_item.done', output_index: 3, item: search },
    { type: 'response.output_item.done', output_index: 2, item: call },
    {
      type: 'response.completed',
      response: {
        ...started,
        status: 'completed',
        completed_at: 1,
        usage,
        output: [reasoning, message, call, search],
      },
    },
  ]);
}

/** The stream of a background response with the same text: a half-written message of an earlier process is left out of the output. */
function backgroundStream(): Json[] {
  const events = goodStream();
  const snapshot = { ...started, status: 'queued' };
  const half = { ...message, id: 'msg_0', status: 'incomplete', content: [] };
  const late = events.slice(2).map((event) => {
    const { output_index: index } = event;
    return typeof index === 'number' ? { ...event, output_index: index + 1 } : event;
  });
  const all: Json[] = [
    { type: 'response.created', response: snapshot },
    { type: 'response.queued', response: snapshot },
    { type: 'response.in_progress', response: started },
    { type: 'response.output_item.added', output_index: 0, item: { ...half, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index: 0, item: half },
    ...late,
  ];
  return all.map((event) =>
    'response' in event ? { ...event, response: { ...(event['response'] as Json), background: true } } : event,
  );
}

/** A background response that is cancelled before it runs. */
function cancelledStream(): Json[] {
  const queued = backgroundStream().slice(0, 2);
  const { response } = queued[0] ?? {};
  return [...queued, { type: 'response.incomplete', response: { ...(response as Json), status: 'cancelled' } }];
}

function numbered(events: readonly Json[]): Json[] {
  return events.map((event, position) => ({ ...event, sequence_number: position }));
}

const at = (events: readonly Json[], type: string): number =>
  events.findIndex((event) => event['type'] === `response.${type}`);

/** Each takes one thing away from, adds one to, or turns one over in a good stream. */
const drop =
  (type: string) =>
  (events: Json[]): Json[] =>
    events.toSpliced(at(events, type), 1);
const twice =
  (type: string) =>
  (events: Json[]): Json[] =>
    events.toSpliced(at(events, type), 0, events[at(events, type)] ?? {});
const swap =
  (type: string) =>
  (events: Json[]): Json[] => {
    const position = at(events, type);
    return events.toSpliced(position, 2, events[position + 1] ?? {}, events[position] ?? {});
  };
const change =
  (type: string, members: Json) =>
  (events: Json[]): Json[] =>
    events.with(at(events, type), { ...events[at(events, type)], ...members });
const changeIn =
  (type: string, member: 'item' | 'response' | 'part', members: Json) =>
  (events: Json[]): Json[] =>
    change(type, { [member]: { ...(events[at(events, type)]?.[member] as Json), ...members } })(events);
const append =
  (event: Json) =>
  (events: Json[]): Json[] => [...events, event];

describe(checkEventOrder.name, () => {
  it('checkEventOrder passes a stream that keeps every rule', () => {
    expect(() => checkEventOrder(numbered(goodStream()), { transport: 'sse' })).not.toThrow();
  });

  it('checkEventOrder passes a stream without padding on a socket, and with keepalives everywhere', () => {
    const bare = numbered(goodStream()).map(({ obfuscation: _, ...event }) => event);
    const kept = bare.toSpliced(5, 0, { type: 'keepalive' });
    expect(() => checkEventOrder(bare, { transport: 'ws' })).not.toThrow();
    expect(() => checkEventOrder(kept, { transport: 'sse', obfuscated: false })).not.toThrow();
    expect(() => checkEventOrder(kept, { transport: 'ws' })).not.toThrow();
  });

  it('checkEventOrder allows a frame with headers on sockets only', () => {
    const bare = numbered(goodStream()).map(({ obfuscation: _, ...event }) => event);
    const told = bare.toSpliced(5, 0, { type: 'response.metadata', headers: { 'x-turn': '1' } });
    expect(() => checkEventOrder(told, { transport: 'ws' })).not.toThrow();
    expect(() => checkEventOrder(told, { transport: 'sse', obfuscated: false })).toThrow('only allowed on sockets');
  });

  it('checkEventOrder expects no more of a warm-up than its begin and its end', () => {
    const [created, inProgress, ...rest] = goodStream();
    const ended = { ...rest.at(-1), response: { ...(rest.at(-1)?.['response'] as Json), output: [] } };
    const warmUp = { transport: 'ws', warmUp: true } as const;
    expect(() => checkEventOrder(numbered([created ?? {}, ended]), warmUp)).not.toThrow();
    expect(() => checkEventOrder(numbered([created ?? {}, inProgress ?? {}, ended]), warmUp)).toThrow('second event');
  });

  it.each<[fault: string, mutate: (events: Json[]) => Json[], message: string]>([
    ['created is missing', drop('created'), 'created must be the first'],
    ['created comes twice', twice('created'), 'created must be the first'],
    ['in_progress is missing', drop('in_progress'), 'in_progress must be the second'],
    ['in_progress comes before created', swap('created'), 'created must be the first'],
    ['there is output before the end', changeIn('created', 'response', { output: [call] }), 'output must be empty'],
    ['usage comes too early', changeIn('in_progress', 'response', { usage }), 'must be null before the end'],
    ['another response id', changeIn('completed', 'response', { id: 'resp_2' }), 'response.id must stay resp_1'],
    ['a member of the response is missing', changeIn('created', 'response', { store: undefined }), 'lacks store'],
    ['an output_index is skipped', change('output_item.added', { output_index: 1 }), 'output_index must be 0'],
    ['an item is added with a payload', changeIn('output_item.added', 'item', { summary: [{}] }), 'must be []'],
    ['item ids repeat', (events) => rename(events, 'msg_1', 'rs_1'), 'the item id rs_1 is already in use'],
    ['output_item.added is missing', drop('output_item.added'), 'there is no item at output_index 0'],
    ['an item ends twice', twice('output_item.done'), 'the item rs_1 is done already'],
    ['an item ends with another id', changeIn('output_item.done', 'item', { id: 'rs_9' }), 'id must stay rs_1'],
    ['an item ends as another type', changeIn('output_item.done', 'item', { type: 'message' }), 'type must stay'],
    ['an item never ends', drop('output_item.done'), 'output_item.done is missing for rs_1'],
    ['a summary part is not opened', drop('reasoning_summary_part.added'), 'no part at summary_index 0'],
    ['a part index is skipped', change('content_part.added', { content_index: 1 }), 'content_index must be 0'],
    ['a part is opened with text', changeIn('content_part.added', 'part', { text: 'x' }), 'an added part must be'],
    ['a part is opened twice', twice('content_part.added'), 'content_index must be 1'],
    ['a delta names a wrong item', change('output_text.delta', { item_id: 'rs_1' }), 'item_id must be msg_1'],
    ['a delta is of the wrong family', change('function_call_arguments.delta', inSearch), 'no such event'],
    ['a delta is lost', drop('output_text.delta'), 'text must be the deltas joined'],
    ['a delta comes twice', twice('function_call_arguments.delta'), 'arguments must be the deltas joined'],
    [
      'a delta without logprobs',
      change('output_text.delta', { logprobs: undefined }),
      'logprobs must be of kind array',
    ],
    [
      'a delta without item_id',
      change('function_call_arguments.delta', { item_id: undefined }),
      'item_id must be of kind',
    ],
    ['the padding is missing', change('output_text.delta', { obfuscation: undefined }), 'obfuscation is missing'],
    ['the padding is of a wrong length', change('output_text.delta', { obfuscation: 'x' }), 'multiple of 16'],
    ['padding where none belongs', change('output_text.done', { obfuscation: 'x' }), 'belongs to padded deltas only'],
    [
      'an annotation is skipped',
      change('output_text.annotation.added', { annotation_index: 1 }),
      'annotation_index must be 0',
    ],
    ['text.done is missing', drop('output_text.done'), 'text of a part must be done before'],
    ['text.done comes twice', twice('output_text.done'), 'the text is done already'],
    ['part.done comes before text.done', swap('output_text.done'), 'text of a part must be done before'],
    ['part.done is missing', drop('content_part.done'), 'every part must be done before the item'],
    [
      'part.done forgets annotations',
      changeIn('content_part.done', 'part', { annotations: [] }),
      'annotations of a done part',
    ],
    ['arguments.done is missing', drop('function_call_arguments.done'), 'arguments must be done before the item'],
    ['a call without call_id', (events) => rename(events, 'call_1', ''), 'must have a call_id'],
    ['an unknown event', append({ type: 'response.vendor.extra' }), 'nothing may follow'],
    ['an unknown event in the middle', change('output_text.done', { type: 'response.vendor' }), 'unknown event type'],
    ['an event of another item type', change('web_search_call.searching', inCall), 'no such event'],
    ['the terminal event is missing', drop('completed'), 'must end with a terminal event'],
    ['two terminal events', twice('completed'), 'nothing may follow the terminal event'],
    ['the output lacks an item', changeIn('completed', 'response', { output: [] }), 'the output of the terminal event'],
    ['the status does not fit', changeIn('completed', 'response', { status: 'failed' }), 'status must be completed'],
    [
      'usage does not add up',
      changeIn('completed', 'response', { usage: { ...usage, total_tokens: 8 } }),
      'usage must be',
    ],
    [
      'completed with an error',
      changeIn('completed', 'response', { error: { code: 'c', message: 'm' } }),
      'failed only',
    ],
  ])('checkEventOrder fails when %s', (_, mutate, message) => {
    expect(() => checkEventOrder(numbered(mutate(goodStream())), { transport: 'sse' })).toThrow(message);
  });

  it('checkEventOrder passes a background response that goes on after its process died, and one that is cancelled', () => {
    expect(() => checkEventOrder(numbered(backgroundStream()))).not.toThrow();
    expect(() => checkEventOrder(numbered(cancelledStream()))).not.toThrow();
  });

  it.each<[fault: string, events: Json[], message: string]>([
    ['queued is missing', drop('queued')(backgroundStream()), 'response.queued must be the second'],
    ['queued comes twice', twice('queued')(backgroundStream()), 'response.queued must be the second'],
    ['in_progress is missing', drop('in_progress')(backgroundStream()), 'in_progress must be the third'],
    [
      'a foreground response is queued',
      changeIn('created', 'response', { status: 'queued' })(goodStream()),
      'only background responses are queued',
    ],
    [
      'a foreground response is cancelled',
      changeIn('incomplete', 'response', { background: false })(cancelledStream()),
      'only background responses are cancelled',
    ],
    [
      'a cancelled response has usage',
      changeIn('incomplete', 'response', { usage })(cancelledStream()),
      'usage of a cancelled response',
    ],
    [
      'the output lacks a completed item',
      changeIn('completed', 'response', { output: [reasoning, message, call] })(backgroundStream()),
      'the output of the terminal event',
    ],
  ])('checkEventOrder fails when %s', (_, events, message) => {
    expect(() => checkEventOrder(numbered(events), { transport: 'sse' })).toThrow(message);
  });

  it.each([
    ['a number is skipped', 7, 8],
    ['a number repeats', 7, 6],
    ['a number is a string', 7, '7'],
  ])('checkEventOrder fails when %s', (_, position, number) => {
    const events = numbered(goodStream()).map((event, index) =>
      index === position ? { ...event, sequence_number: number } : event,
    );
    expect(() => checkEventOrder(events, { transport: 'sse' })).toThrow('sequence_number');
  });

  it.each([[[]], [[null]], [['response.created']], [[{}]]])('checkEventOrder fails for %j', (events) => {
    expect(() => checkEventOrder(events, { transport: 'sse' })).toThrow(/must (be an object|end)/);
  });
});

function rename(events: readonly Json[], from: string, to: string): Json[] {
  return JSON.parse(JSON.stringify(events).replaceAll(`"${from}"`, `"${to}"`)) as Json[];
}
