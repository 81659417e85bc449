import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { Item } from '../../src/protocol/index.js';
import { isPlainReasoning } from '../../src/providers/index.js';
import { baselineAfter } from '../../src/providers/responses/request/baseline.js';
import { type OutputEvent, ResponseAssembler } from '../../src/responses/assembler/response-assembler.js';
import { resolveSettings } from '../../src/responses/turn/resolve-settings.js';
import { checkEventOrder, SequentialIdGenerator } from '../../src/testing/index.js';
import { type ReadAnswer, readUpstreamAnswer } from '../support/read-upstream-answer.js';
import { FIRST, frame, request, say, TODAY } from '../support/upstream-frames.js';

/** An event of a stream. */
type Event = Readonly<Record<string, unknown>>;

const at = (output_index: number, item_id: string) => ({ output_index, item_id });
const part = { type: 'output_text', text: 'Hello', annotations: [{ type: 'file_path' }], logprobs: [] };
const spoken = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' };
const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'Well' }],
  content: [{ type: 'reasoning_text', text: 'hm' }],
};
const called = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{}',
  status: 'completed',
};
const patched = {
  type: 'custom_tool_call',
  id: 'ctc_1',
  call_id: 'call_2',
  name: 'p',
  input: 'x',
  status: 'completed',
};
const searched = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
const ran = { type: 'shell_call', id: 'sh_1', call_id: 'call_3', status: 'completed' };
const final = { ...spoken, content: [part, { type: 'refusal', refusal: 'No' }, part] };

const USAGE = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };

/** An answer with items of all families, some of them open side by side. */
const ANSWER: readonly Event[] = [
  { type: 'response.created', response: { id: 'resp_u' } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs_1', summary: [] } },
  { type: 'response.reasoning_summary_text.delta', ...at(0, 'rs_1'), summary_index: 0, delta: 'We' },
  { type: 'response.reasoning_summary_text.delta', ...at(0, 'rs_1'), summary_index: 0, delta: 'll' },
  { type: 'response.reasoning_text.delta', ...at(0, 'rs_1'), content_index: 0, delta: 'hm' },
  { type: 'response.output_item.done', output_index: 0, item: { ...thought, encrypted_content: 'gAAA' } },
  { type: 'response.output_item.added', output_index: 1, item: { ...spoken, content: [] } },
  { type: 'response.output_item.added', output_index: 2, item: { ...called, arguments: '' } },
  { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 0, delta: 'Hel', logprobs: [] },
  { type: 'response.function_call_arguments.delta', ...at(2, 'fc_1'), delta: '{}' },
  { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 0, delta: 'lo', logprobs: [] },
  {
    type: 'response.output_text.annotation.added',
    ...at(1, 'msg_1'),
    content_index: 0,
    annotation_index: 0,
    annotation: { type: 'file_path' },
  },
  { type: 'response.refusal.delta', ...at(1, 'msg_1'), content_index: 1, delta: 'No' },
  { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 2, delta: 'Hello', logprobs: [] },
  { type: 'response.output_item.done', output_index: 2, item: called },
  { type: 'response.output_item.done', output_index: 1, item: final },
  { type: 'response.output_item.added', output_index: 3, item: { ...patched, input: '' } },
  { type: 'response.custom_tool_call_input.delta', ...at(3, 'ctc_1'), delta: 'x' },
  { type: 'response.output_item.done', output_index: 3, item: patched },
  { type: 'response.output_item.added', output_index: 4, item: { ...searched, status: 'in_progress' } },
  { type: 'response.web_search_call.searching', ...at(4, 'ws_1') },
  { type: 'response.output_item.done', output_index: 4, item: searched },
  { type: 'response.output_item.added', output_index: 5, item: { ...ran, status: 'in_progress' } },
  { type: 'response.shell_call_command.delta', output_index: 5, command_index: 0, delta: 'ls' },
  { type: 'codex.rate_limits', rate_limits: {} },
  {
    type: 'response.completed',
    response: { id: 'resp_u', output: [thought, final, called, patched, searched, ran], usage: USAGE },
  },
];

/** The stream of our response, made by the assembler of the service. Throws when a ModelEvent is not as it must be. */
function assemble({ events }: ReadAnswer): readonly Event[] {
  const settings = resolveSettings({ model: 'm' }, null);
  const assembler = new ResponseAssembler({
    id: 'resp_1',
    createdAt: 1,
    requestedTier: 'auto',
    settings,
    ids: new SequentialIdGenerator(),
    writing: 'events',
    maxOutputCharacters: 1_000_000,
  });
  assembler.start();
  assembler.beginPass();
  for (const event of events) {
    if (event.type === 'finish') assembler.endPass(event);
    else if (event.type !== 'metadata' && event.type !== 'event' && !isPlainReasoning(event))
      assembler.push(event satisfies OutputEvent);
  }
  assembler.cutItems();
  assembler.terminate(assembler.conclude({ status: 'completed', usage: assembler.usage }, 2));
  return assembler.takeEvents().map(({ json }) => JSON.parse(`${json}}`) as Event);
}

const oddValue = fc.oneof(
  fc.constantFrom<unknown>(null, 0, 1, 2, 5, -1, 1.5, true, '', 'x', [], {}, [null], [{}]),
  fc.constantFrom<unknown>('msg_1', 'fc_1', 'call_1', 'call_2', 'message', 'reasoning', 'function_call', 'shell_call'),
  fc.constantFrom<unknown>(...ANSWER.map(({ type }) => type), thought, final, called, ran),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Changes a value at some place in depth: a member is set or removed. */
function change(value: unknown, path: readonly number[], odd: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return odd;
  const names = Object.keys(value);
  const name = names[step % Math.max(1, names.length)];
  if (name === undefined) return odd;
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => [
    key,
    key === name ? change(member, rest, odd) : member,
  ]);
  return Array.isArray(value) ? entries.map(([, element]) => element) : Object.fromEntries(entries);
}

type Mutation = (events: readonly Event[]) => readonly Event[];

const place = fc.nat(ANSWER.length);
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  place.map(
    (index): Mutation =>
      (events) =>
        events.toSpliced(index, 1),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Mutation =>
      (events) =>
        events.toSpliced(to, 0, ...events.slice(from, from + 1)),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Mutation =>
      (events) =>
        events.toSpliced(from, 1).toSpliced(to, 0, ...events.slice(from, from + 1)),
  ),
  {
    weight: 4,
    arbitrary: fc.tuple(place, fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }), oddValue).map(
      ([index, path, odd]): Mutation =>
        (events) =>
          events.map((event, at) => (at === index ? (change(event, path, odd) as Event) : event)),
    ),
  },
);
const mutated = fc
  .array(mutation, { minLength: 1, maxLength: 6 })
  .map((mutations) => mutations.reduce((events, mutate) => mutate(events), ANSWER));

describe('an answer of an upstream', () => {
  it('an answer of an upstream becomes a response in the order of the protocol, with the same output', () => {
    const read = readUpstreamAnswer(ANSWER);
    const events = assemble(read);
    checkEventOrder(events, { transport: 'ws' });
    const { output } = events.at(-1)?.['response'] as { readonly output: readonly Event[] };
    expect(read.counts).toEqual({});
    expect(output.map(({ id: _, ...item }) => item)).toEqual(
      read.reader.output.map(({ id: _, ...item }) => expect.objectContaining(item) as unknown),
    );
  });

  it('an answer of an upstream never violates the contract of providers, whatever is dropped, repeated, moved or changed in it', () => {
    fc.assert(
      fc.property(mutated, fc.constantFrom('sse', 'websocket'), (events, transport) => {
        const read = readUpstreamAnswer(events, { transport });
        const stream = assemble(read);
        expect(stream.at(-1)?.['type']).toBe('response.completed');
        const types = read.events.map(({ type }) => type);
        expect(types.indexOf('finish')).toBe(read.reader.isFinished ? types.length - 1 : -1);
      }),
      { numRuns: 2000 },
    );
  });
});

/** The frame after an answer whose transcript was changed. */
function nextAfter(answer: readonly Event[], edit: (output: readonly Item[]) => readonly Item[] = (items) => items) {
  const read = readUpstreamAnswer(answer);
  const baseline = baselineAfter(request([FIRST]), 'resp_u', read.reader.output, TODAY);
  const { output } = assemble(read).at(-1)?.['response'] as { readonly output: readonly Item[] };
  const context = [FIRST, ...edit(output), say('And?')];
  return frame(request(context, { parent: { upstreamId: 'resp_u' } }), baseline, TODAY);
}

describe('upstreams §4.4: the transcript of an answer', () => {
  it('the transcript of an answer has what the upstream returned, as far as the next request is concerned', () => {
    expect(nextAfter(ANSWER)).toMatchObject({ previous_response_id: 'resp_u', input: [{ role: 'user' }] });
  });

  it.each<readonly [what: string, item: Event]>([
    ['nothing optional', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
    ['reasoning without its summary', { type: 'reasoning', id: 'rs_1', encrypted_content: 'gAAAA' }],
    ['null members', { type: 'function_call', id: null, call_id: 'c', name: 'f', namespace: null, arguments: '{}' }],
  ])('the transcript of an answer is known with %s', (_, item) => {
    const answer = [
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_u' } },
    ];
    expect(nextAfter(answer).isIncremental).toBe(true);
  });

  it('the transcript of an answer is another one if a policy changed it', () => {
    expect(nextAfter(ANSWER, (output) => output.slice(1)).isIncremental).toBe(false);
    expect(nextAfter(ANSWER, (output) => output.toReversed()).isIncremental).toBe(false);
  });
});
