import { describe, expect, it } from '@jest/globals';

import {
  added,
  call,
  completed,
  delta,
  done,
  message,
  readUpstreamAnswer,
  type UpstreamText,
} from '../../../../test/support/read-upstream-answer.js';

/** One open item of every type that has events, each at its index. */
const HEADS = [
  { ...message(''), content: [] },
  { type: 'reasoning', id: 'rs_1', summary: [] },
  call({ arguments: '' }),
  { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'patch', input: '' },
  { type: 'web_search_call', id: 'ws_1', status: 'in_progress' },
  { type: 'file_search_call', id: 'fs_1' },
  { type: 'code_interpreter_call', id: 'ci_1' },
  { type: 'image_generation_call', id: 'ig_1' },
  { type: 'mcp_call', id: 'mcp_1' },
  { type: 'mcp_list_tools', id: 'mcpl_1' },
  { type: 'shell_call', id: 'sh_1', call_id: 'call_3' },
  { type: 'shell_call_output', id: 'sho_1' },
  { type: 'apply_patch_call', id: 'apc_1' },
  { type: 'compaction', id: 'cmp_1' },
];
const PRELUDE = [{ type: 'response.created', response: { id: 'resp_u' } }, ...HEADS.map(added)];

/** An event within an open item of its type. */
function within(type: string, members: object): UpstreamText {
  const heads = [...HEADS.keys()];
  const names = [
    /output_text|refusal|content_part/,
    /reasoning/,
    /^function_call/,
    /custom_tool_call/,
    /web_search/,
    /file_search/,
    /code_interpreter/,
    /image_generation/,
    /mcp_call/,
    /mcp_list/,
    /shell_call_command/,
    /shell_call_output/,
    /apply_patch/,
    /compaction/,
  ];
  const index = heads.find((place) => names[place]?.test(type)) ?? 0;
  return { type: `response.${type}`, output_index: index, item_id: HEADS[index]?.id, sequence_number: 9, ...members };
}

/** What an event becomes, after the items of all types were opened. */
function readWithin(text: UpstreamText) {
  const before = readUpstreamAnswer(PRELUDE).events.length;
  const { events, counts } = readUpstreamAnswer([...PRELUDE, text]);
  return { events: events.slice(before), counts };
}

describe('§3.2 each event type', () => {
  it.each([
    [
      'output_text.delta',
      { content_index: 0, delta: 'a', logprobs: [] },
      { type: 'text', delta: 'a', part: 0, key: '0' },
    ],
    ['refusal.delta', { content_index: 0, delta: 'no' }, { type: 'refusal', delta: 'no', part: 0, key: '0' }],
    [
      'output_text.annotation.added',
      { content_index: 0, annotation_index: 0, annotation: { type: 'file_path' } },
      { type: 'annotation', annotation: { type: 'file_path' }, key: '0' },
    ],
    ['reasoning_text.delta', { content_index: 0, delta: 'a' }, { type: 'reasoning', delta: 'a', part: 0, key: '1' }],
    ['reasoning.delta', { content_index: 0, delta: 'a' }, { type: 'reasoning', delta: 'a', part: 0, key: '1' }],
    [
      'reasoning_summary_text.delta',
      { summary_index: 0, delta: 'a' },
      { type: 'reasoning_summary', delta: 'a', part: 0, key: '1' },
    ],
    ['function_call_arguments.delta', { delta: '{' }, { type: 'function_call_arguments', delta: '{', key: '2' }],
    ['custom_tool_call_input.delta', { delta: 'x' }, { type: 'custom_tool_call_input', delta: 'x', key: '3' }],
  ])('response.%s becomes an event of its own', (type, members, expected) => {
    expect(readWithin(within(type, members))).toEqual({ events: [expected], counts: {} });
  });

  it.each([
    ['web_search_call.in_progress', {}],
    ['web_search_call.searching', {}],
    ['web_search_call.completed', {}],
    ['file_search_call.in_progress', {}],
    ['file_search_call.searching', {}],
    ['file_search_call.completed', {}],
    ['code_interpreter_call.in_progress', {}],
    ['code_interpreter_call.interpreting', {}],
    ['code_interpreter_call.completed', {}],
    ['code_interpreter_call_code.delta', { delta: 'x' }],
    ['code_interpreter_call_code.done', { code: 'x' }],
    ['image_generation_call.in_progress', {}],
    ['image_generation_call.generating', {}],
    ['image_generation_call.partial_image', { partial_image_index: 0, partial_image_b64: 'eA==' }],
    ['image_generation_call.completed', {}],
    ['mcp_call.in_progress', {}],
    ['mcp_call_arguments.delta', { delta: '{' }],
    ['mcp_call_arguments.done', { arguments: '{}' }],
    ['mcp_call.completed', {}],
    ['mcp_call.failed', {}],
    ['mcp_list_tools.in_progress', {}],
    ['mcp_list_tools.completed', {}],
    ['mcp_list_tools.failed', {}],
    ['shell_call_command.added', { item_id: undefined, command_index: 0, command: '' }],
    ['shell_call_command.delta', { item_id: undefined, command_index: 0, delta: 'ls' }],
    ['shell_call_command.done', { item_id: undefined, command_index: 0, command: 'ls' }],
    ['shell_call_output_content.delta', { command_index: 0, delta: { stdout: 'a' } }],
    ['shell_call_output_content.done', { command_index: 0, output: [] }],
    ['apply_patch_call_operation_diff.delta', { delta: '+' }],
    ['apply_patch_call_operation_diff.done', { diff: '+' }],
    ['compaction.compacting', {}],
  ])('response.%s goes through with its item', (type, members) => {
    const event = within(type, members) as Readonly<Record<string, unknown>>;
    const key = String(event['output_index']);
    expect(readWithin(event)).toEqual({
      events: [{ type: 'item.event', key, event: JSON.parse(JSON.stringify(event)) as unknown }],
      counts: {},
    });
  });

  it.each([
    ['queued', { response: {} }],
    ['in_progress', { response: {} }],
    ['content_part.added', { content_index: 0, part: { type: 'output_text', text: '' } }],
    ['content_part.done', { content_index: 0, part: { type: 'output_text', text: '' } }],
    ['output_text.done', { content_index: 0, text: '', logprobs: [] }],
    ['refusal.done', { content_index: 0, refusal: '' }],
    ['reasoning_text.done', { content_index: 0, text: '' }],
    ['reasoning_summary_part.added', { summary_index: 0, part: {} }],
    ['reasoning_summary_part.done', { summary_index: 0, part: {} }],
    ['reasoning_summary_text.done', { summary_index: 0, text: '' }],
    ['function_call_arguments.done', {}],
    ['custom_tool_call_input.done', {}],
  ])('response.%s says nothing that the final item does not', (type, members) => {
    expect(readWithin(within(type, members))).toEqual({ events: [], counts: {} });
  });

  it.each(['keepalive', 'ping', 'connection_expiring'])('%s is about the connection', (type) => {
    expect(readWithin({ type })).toEqual({ events: [], counts: {} });
  });

  it.each(['audio.delta', 'audio.done', 'audio.transcript.delta', 'audio.transcript.done', 'news_of_2027'])(
    'response.%s is unknown: clients on sockets get it, without what numbers the upstream stream',
    (type) => {
      const event = { type: `response.${type}`, delta: 'x', response_id: 'resp_u', sequence_number: 3, stream_id: 's' };
      expect(readWithin(event)).toEqual({
        events: [{ type: 'event', event: { type: `response.${type}`, delta: 'x' } }],
        counts: { events_unknown: 1 },
      });
    },
  );

  it.each([
    { type: 'response.steer.accepted', steer: {} },
    { type: 'response.inject.failed', input: [] },
    { type: 'response.interrupt.accepted', response_id: 'resp_u' },
    { type: 'response.cancelled', response: { id: 'resp_u' } },
    { type: '' },
  ])('$type is not passed on: it is about the upstream response', (event) => {
    expect(readWithin(event)).toEqual({ events: [], counts: { events_unplaced: 1 } });
  });

  it.each(['', 'no JSON', '7', 'null', '[]', '{}', '{"type":7}'])(
    'the reader of an answer counts what is no event: %j',
    (text) => {
      expect(readWithin(text)).toEqual({ events: [], counts: { events_unparsable: 1 } });
    },
  );

  it('the reader of an answer takes [DONE] for the end mark that it is', () => {
    expect(readWithin('[DONE]')).toEqual({ events: [], counts: {} });
  });
});

describe('§3.2 an output item', () => {
  it('an output item opens, grows and closes with all its members', () => {
    const head = { ...message(''), content: [], status: 'in_progress', phase: 'final_answer' };
    const final = { ...message('hi'), phase: 'final_answer' };
    const logprobs = [{ token: 'hi', logprob: -1, bytes: [], top_logprobs: [] }];
    const { events, reader, counts } = readUpstreamAnswer([added(head), delta({ logprobs }), done(final), completed()]);
    expect(events).toEqual([
      { type: 'item.open', key: '0', item: head },
      { type: 'text', delta: 'hi', logprobs, part: 0, key: '0' },
      { type: 'item.close', key: '0', item: final },
      { type: 'metadata', upstreamId: 'resp_u' },
      { type: 'finish', reason: 'stop' },
    ]);
    expect(reader.output).toEqual([final]);
    expect(counts).toEqual({});
  });

  it('an output item may grow beside others', () => {
    const { events } = readUpstreamAnswer([
      added(message('')),
      added(call(), 1),
      delta(),
      { type: 'response.function_call_arguments.delta', output_index: 1, item_id: 'fc_1', delta: '{}' },
      done(call(), 1),
      done(message('hi')),
    ]);
    expect(events.map((event) => [event.type, 'key' in event && event.key])).toEqual([
      ['item.open', '0'],
      ['item.open', '1'],
      ['text', '0'],
      ['function_call_arguments', '1'],
      ['item.close', '1'],
      ['item.close', '0'],
    ]);
  });

  it.each([
    ['with indexes', [done(message('hi')), done(call(), 1)]],
    [
      'without indexes',
      [
        { ...done(message('hi')), output_index: undefined },
        { ...done(call()), output_index: undefined },
      ],
    ],
    [
      'with null for indexes',
      [
        { ...done(message('hi')), output_index: null },
        { ...done(call()), output_index: null },
      ],
    ],
  ])('an output item of a minimal server comes in one piece, %s', (_, texts) => {
    const { events, reader, counts } = readUpstreamAnswer([...texts, completed({ output: [message('hi'), call()] })]);
    expect(events.slice(0, 4)).toEqual([
      { type: 'item.open', key: '0', item: message('hi') },
      { type: 'item.close', key: '0', item: message('hi') },
      { type: 'item.open', key: '1', item: call() },
      { type: 'item.close', key: '1', item: call() },
    ]);
    expect(reader.output).toEqual([message('hi'), call()]);
    expect([events.length, counts]).toEqual([6, {}]);
  });

  it('an output item without an id or index is not doubled by the finished output', () => {
    const { id: _, ...item } = message('hi');
    const { events } = readUpstreamAnswer([{ type: 'response.output_item.done', item }, completed({ output: [item] })]);
    expect(events.map(({ type }) => type)).toEqual(['item.open', 'item.close', 'metadata', 'finish']);
  });

  it('an output item that only the finished output has is taken from there', () => {
    const { events, reader } = readUpstreamAnswer([completed({ output: [message('hi'), call()] })]);
    expect(events.map(({ type }) => type)).toEqual([
      ...['item.open', 'item.close', 'item.open', 'item.close'],
      ...['metadata', 'finish'],
    ]);
    expect(reader.output).toEqual([message('hi'), call()]);
  });

  it('an output item that is still open at the end closes with its form in the finished output', () => {
    const { events } = readUpstreamAnswer([added(message('')), delta(), completed({ output: [message('hi!')] })]);
    expect(events[2]).toEqual({ type: 'item.close', key: '0', item: message('hi!') });
  });

  it('an output item that is still open at the end and nowhere else just ends', () => {
    const { events, reader } = readUpstreamAnswer([added(message('')), delta(), completed({ output: [] })]);
    expect(events[2]).toEqual({ type: 'end', key: '0' });
    expect(reader.output).toEqual([]);
  });

  it('an output item of a server that renames items in every event is one item', () => {
    const { events, counts } = readUpstreamAnswer([
      added({ ...message(''), id: 'a' }),
      delta({ item_id: 'b' }),
      done({ ...message('hi'), id: 'c' }),
      completed({ output: [{ ...message('hi'), id: 'd' }] }),
    ]);
    expect(events.map(({ type }) => type)).toEqual(['item.open', 'text', 'item.close', 'metadata', 'finish']);
    expect(counts).toEqual({});
  });

  it('an output item of a tool search opens when it is final, because its call_id may change', () => {
    const search = (callId: string) => ({ type: 'tool_search_call', id: 'tsc_1', call_id: callId });
    const { events } = readUpstreamAnswer([added(search('call_a')), done(search('call_b'))]);
    expect(events).toEqual([
      { type: 'item.open', key: '0', item: search('call_b') },
      { type: 'item.close', key: '0', item: search('call_b') },
    ]);
  });

  it('an output item may have a type that no one knows', () => {
    const odd = { type: 'dream_call', id: 'dr_1', depth: { of: ['sleep'] } };
    expect(readUpstreamAnswer([added(odd), done(odd)]).events).toEqual([
      { type: 'item.open', key: '0', item: odd },
      { type: 'item.close', key: '0', item: odd },
    ]);
  });
});
