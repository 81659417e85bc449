import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { ServiceLog } from '../support/service-log.js';
import { streaming } from '../support/responses-upstream/reply.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { TRANSPORTS } from '../support/transports.js';

const reasoning = { type: 'reasoning', id: 'rs_u', summary: [] };
const message = { type: 'message', id: 'msg_u', role: 'assistant', content: [] };

const added = (item: object, index = 0) => ({ type: 'response.output_item.added', output_index: index, item });
const done = (item: object, index = 0) => ({ type: 'response.output_item.done', output_index: index, item });
const completed = { type: 'response.completed', response: { id: 'resp_u', output: [] } };
const text = (delta: unknown, place: object) => ({ type: 'response.output_text.delta', delta, ...place });

const call = { type: 'function_call', id: 'fc_u', call_id: 'call_1', name: 'look', arguments: '' };
const custom = { type: 'custom_tool_call', id: 'ct_u', call_id: 'call_1', name: 'look', input: '' };
const piece = (delta: unknown, place: object = { output_index: 0, item_id: 'fc_u' }) => ({
  type: 'response.function_call_arguments.delta',
  delta,
  ...place,
});
const begun = (part: object) => ({ type: 'response.content_part.added', output_index: 0, content_index: 0, part });
const whole = (type: string, members: object) => ({ type: `response.${type}.done`, output_index: 0, ...members });

const LOOK = { type: 'function_call', name: 'look', arguments: '{"a":1}' };
const HELLO = { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] };

describe.each(TRANSPORTS)('content at odd places, over $name', (transport) => {
  const service = useService(() => startResponsesService());

  /** The response to a stream of these events. */
  async function answerTo(events: readonly (object | { raw: string })[]): Promise<unknown> {
    service.upstream.respond(streaming([...events, completed]));
    return (await transport.run(service, { model: MODEL, input: 'Hi' })).response;
  }

  it.each<[form: string, events: readonly object[], output: readonly object[]]>([
    ['an index far ahead', [text('Hel', { output_index: 5 }), text('lo', { output_index: 5 })], [HELLO]],
    [
      'an index behind a gap',
      [done(reasoning), text('Hello', { output_index: 2, item_id: 'msg_u' })],
      [{ type: 'reasoning' }, HELLO],
    ],
    ['a content_index behind a gap', [added(message), text('Hello', { output_index: 0, content_index: 3 })], [HELLO]],
    [
      'a summary_index behind a gap',
      [
        added(reasoning),
        { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 1, delta: 'Hm' },
        text('Hello', { output_index: 1 }),
      ],
      [{ type: 'reasoning', summary: [{ text: 'Hm' }] }, HELLO],
    ],
    ['the index behind a dropped item', [added({ id: 'odd' }), text('Hello', { output_index: 1 })], [HELLO]],
    ['an event before it that is no JSON', [{ raw: '{"broken' }, text('Hello', { output_index: 0 })], [HELLO]],
    ['a wrong index and a known id', [added(message), text('Hello', { output_index: 4, item_id: 'msg_u' })], [HELLO]],
  ])('a text is delivered that has %s', async (_, events, output) => {
    expect(await answerTo(events)).toMatchObject({ status: 'completed', output });
  });

  it.each<[form: string, events: readonly object[]]>([
    ['before the call is announced', [piece('{"a"'), added(call), piece(':1}')]],
    [
      'before the call ends, which nothing announced',
      [piece('{"a"'), piece(':1}'), done({ ...call, arguments: '{"a":1}' })],
    ],
    ['without an index and an id', [added(call), piece('{"a":1}', {})]],
    ['with an id that no event has told', [added(call), piece('{"a":1}', { item_id: 'call_1' })]],
    ['with a wrong index', [added(call), piece('{"a":1}', { output_index: 1, item_id: 'fc_u' })]],
    ['in the event that announces the call', [added({ ...call, arguments: '{"a":1}' })]],
    ['in pieces that name the call', [{ ...piece('{"a"'), name: 'look', call_id: 'call_1' }, piece(':1}')]],
    [
      'in the event that ends them',
      [whole('function_call_arguments', { item_id: 'fc_u', name: 'look', arguments: '{"a":1}' })],
    ],
    [
      'before the call ends, whose arguments are null',
      [added(call), piece('{"a":1}'), done({ ...call, arguments: null })],
    ],
    [
      'before the call ends, which nothing announced, without them',
      [piece('{"a":1}'), done({ ...call, arguments: null })],
    ],
    ['in pieces that are objects', [added(call), piece({ arguments: '{"a"' }), piece({ text: ':1}' })]],
  ])('arguments are delivered that come %s', async (_, events) => {
    expect(await answerTo(events)).toMatchObject({ status: 'completed', output: [LOOK] });
  });

  it('input of a custom tool is delivered that comes before the call', async () => {
    const input = { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: 'abc' };
    const output = [{ type: 'custom_tool_call', input: 'abc' }];
    expect(await answerTo([input, added(custom)])).toMatchObject({ status: 'completed', output });
  });

  const part = { type: 'output_text', text: 'Hello' };
  it.each<[form: string, events: readonly object[]]>([
    ['the event that ends it', [whole('output_text', { item_id: 'msg_u', text: 'Hello' })]],
    ['the end of its part', [whole('content_part', { item_id: 'msg_u', part })]],
    [
      'both, of an announced message',
      [added(message), whole('output_text', { text: 'Hello' }), whole('content_part', { part })],
    ],
    ['the event that announces its message', [added({ ...message, content: [part] })]],
    ['the beginning of its part', [begun(part)]],
    ['the beginning of its part, of a message that ends empty', [added(message), begun(part), done(message)]],
    ['the beginning and the end of its part', [added(message), begun(part), whole('content_part', { part })]],
    [
      'the beginning of its part, which deltas repeat',
      [added(message), begun(part), text('Hello', { output_index: 0 })],
    ],
    ['an object', [text({ text: 'Hello' }, { output_index: 0 })]],
    ['another member of the delta', [{ ...text(undefined, { output_index: 0 }), text: 'Hello' }]],
    [
      'deltas and is repeated under other ids',
      [
        text('Hello', { item_id: 'msg_u' }),
        done({ ...message, content: [part] }),
        whole('output_text', { item_id: 'msg_v', text: 'Hello' }),
      ],
    ],
  ])('a text is delivered once that stands only in %s', async (_, events) => {
    expect(await answerTo(events)).toMatchObject({ status: 'completed', output: [HELLO] });
  });

  const there = { type: 'output_text', text: 'there' };
  const looked = { ...call, arguments: '{"a":1}' };
  const other = { id: 'fc_v', call_id: 'call_2' };
  it.each<[what: string, streamed: object, finished: object, output: readonly object[]]>([
    [
      'another message',
      { ...message, content: [part] },
      { ...message, id: 'msg_v', content: [there] },
      [HELLO, { content: [there] }],
    ],
    ['the same message', { ...message, content: [part] }, { ...message, id: 'msg_v', content: [part] }, [HELLO]],
    ['another call', looked, { ...looked, ...other, arguments: '{"b":2}' }, [LOOK, { arguments: '{"b":2}' }]],
    ['the same call', looked, { ...looked, id: 'fc_v' }, [LOOK]],
    ['the same call under another call_id', looked, { ...looked, ...other }, [LOOK]],
  ])('an item under another id in the finished output is known or new: %s', async (_, streamed, finished, output) => {
    const response = { id: 'resp_u', output: [finished] };
    const answer = (await answerTo([done(streamed), { type: 'response.completed', response }])) as { output: unknown };
    expect(answer.output).toMatchObject(output);
  });

  it.each<[what: string, events: readonly object[], output: readonly object[]]>([
    [
      'arguments before their call',
      [piece('{"a"'), added(call)],
      [{ ...LOOK, arguments: '{"a"', status: 'incomplete' }],
    ],
    [
      'arguments whose pieces named their call',
      [{ ...piece('{"a"'), name: 'look', call_id: 'call_1' }],
      [{ name: 'look', arguments: '{"a"' }],
    ],
    ['arguments of an announced call', [added(looked)], [{ ...LOOK, status: 'incomplete' }]],
    ['a text at the beginning of its part', [begun(part)], [{ ...HELLO, status: 'incomplete' }]],
  ])('an answer that is cut off has %s', async (_, events, output) => {
    const response = { id: 'resp_u', output: [], incomplete_details: { reason: 'max_output_tokens' } };
    expect(await answerTo([...events, { type: 'response.incomplete', response }])).toMatchObject({
      status: 'incomplete',
      output,
    });
  });

  it.each<[what: string, event: object, end: string]>([
    ['an item', done({ id: 'x', odd: 'Hello' }, 1), 'completed'],
    ['arguments of a call that is cut off', piece('{"a"', { output_index: 1 }), 'incomplete'],
  ])('a form that is not understood is in the log once: %s', async (_, event, end) => {
    await using fresh = await startResponsesService();
    using log = ServiceLog.begin();
    for (const turn of ['one', 'two']) {
      fresh.upstream.respond(
        streaming([text('Hello', { output_index: 0 }), event, { ...completed, type: `response.${end}` }]),
      );
      const { response } = await transport.run(fresh, { model: MODEL, input: turn });
      expect(response).toMatchObject({ status: end, output: [HELLO] });
    }
    expect(log.complaints).toEqual([expect.stringContaining('which is left out: it is not understood')]);
  });

  it('a text is delivered that stands only in output_text of the response', async () => {
    const response = { id: 'resp_u', output: null, output_text: 'Hello' };
    expect(await answerTo([{ type: 'response.completed', response }])).toMatchObject({ output: [HELLO] });
  });

  it.each<[form: string, events: readonly (object | { raw: string })[], named: string]>([
    ['a delta that is no text', [text({ odd: 1 }, { output_index: 0 })], "a delta of 'response.output_text.delta'"],
    ['arguments of a call without a name', [piece('{"a":1}')], 'the arguments of a call that nothing names'],
    [
      'arguments of hundreds of calls that were not announced',
      Array.from({ length: 300 }, (_, number) => piece('{"a":1}', { item_id: `fc_${number}` })),
      'the arguments of too many or too long calls that nothing names',
    ],
    ['a message whose content is a number', [done({ ...message, content: 7 })], "an item of type 'message'"],
    ['an item without a type', [done({ id: 'x', odd: 'Hello' })], "an item of type 'unknown'"],
    [
      'chunks of Chat Completions',
      [{ raw: JSON.stringify({ object: 'chat.completion.chunk', choices: [{ delta: { content: 'Hello' } }] }) }],
      'Chat Completions (its entry must not have `kind: responses`)',
    ],
    [
      "Anthropic's events",
      [{ type: 'message_start', message: { role: 'assistant', content: [] } }],
      "Anthropic's Messages API (its entry must not have `kind: responses`; `base_url` must",
    ],
    ["Gemini's list", [{ raw: '[{"candidates":[{"content":{"parts":[]}}]}]' }], "Gemini's own API"],
  ])('an answer with nothing but %s fails, and names it', async (_, events, named) => {
    await expect(answerTo(events)).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining(named) as unknown,
    });
  });
});
