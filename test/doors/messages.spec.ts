import type Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsNonStreaming, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it } from '@jest/globals';

import { type ModelEvent, ModelError } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { anthropic, BEHIND_KEY, HELLO, LOOK } from './anthropic.js';

const RESULT = { type: 'tool_result', tool_use_id: 'call_1', content: 'A sea.' } as const;
const USAGE = { type: 'usage', input: 12, cached: 4, cacheWrite: 3, output: 7, reasoning: 2 } as const;

const service = useService(BEHIND_KEY);
const client = (): Anthropic => anthropic(service);

/** The bare events of a stream, with their names. */
async function eventsOf(body: object, headers: Record<string, string> = {}): Promise<RawMessageStreamEvent[]> {
  const response = await fetch(`${service.baseURL}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-acme', ...headers },
    body: JSON.stringify({ ...HELLO, stream: true, ...body }),
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '');
  return frames.map((frame) => {
    const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(frame) ?? [];
    const event = JSON.parse(data) as RawMessageStreamEvent;
    expect(event.type).toBe(name);
    return event;
  });
}

/** What a client makes of the same answer as JSON and as a stream. */
async function bothAnswers(
  script: readonly ModelEvent[],
  body: Partial<MessageCreateParamsNonStreaming> = {},
): Promise<Anthropic.Message> {
  service.provider.reply(...script).reply(...script);
  const whole = await client().messages.create({ ...HELLO, ...body });
  const streamed = await client()
    .messages.stream({ ...HELLO, ...body })
    .finalMessage();
  const { id, ...rest } = whole;
  expect(id).toMatch(/^msg_/);
  expect({ ...streamed, id }).toMatchObject({ id, ...rest });
  return whole;
}

describe('a stream of a message', () => {
  it('a stream of a message has its events in the exact order, with usage at the end', async () => {
    service.provider.reply(
      { type: 'text', delta: 'I' },
      { type: 'text', delta: ' look.' },
      { type: 'function_call', name: 'look', callId: 'call_1' },
      { type: 'function_call_arguments', delta: '{"at"' },
      { type: 'function_call_arguments', delta: ':1}' },
      USAGE,
    );
    const events = await eventsOf({ tools: [LOOK] });
    expect(events.map((event) => [event.type, 'index' in event ? event.index : null])).toEqual([
      ['message_start', null],
      ['ping', null],
      ['content_block_start', 0],
      ['content_block_delta', 0],
      ['content_block_delta', 0],
      ['content_block_stop', 0],
      ['content_block_start', 1],
      ['content_block_delta', 1],
      ['content_block_delta', 1],
      ['content_block_stop', 1],
      ['message_delta', null],
      ['message_stop', null],
    ]);
    expect(events[0]).toMatchObject({
      message: { type: 'message', role: 'assistant', model: 'scripted', content: [] },
    });
    expect(events[6]).toMatchObject({ content_block: { type: 'tool_use', id: 'call_1', name: 'look', input: {} } });
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { input_tokens: 5, cache_read_input_tokens: 4, cache_creation_input_tokens: 3, output_tokens: 7 },
    });
  });

  it('a stream of a message has blocks one after another where the model writes them side by side', async () => {
    service.provider.reply(
      { type: 'function_call', name: 'look', callId: 'call_1', key: 'a' },
      { type: 'function_call', name: 'look', callId: 'call_2', key: 'b' },
      { type: 'function_call_arguments', delta: '{"at":2}', key: 'b' },
      { type: 'function_call_arguments', delta: '{"at":1}', key: 'a' },
    );
    const events = await eventsOf({ tools: [LOOK] });
    const blocks = events.filter((event) => 'index' in event).map(({ type, index }) => `${type} ${index}`);
    expect(blocks).toEqual(
      [0, 1].flatMap((at) => ['start', 'delta', 'stop'].map((kind) => `content_block_${kind} ${at}`)),
    );
  });

  it('a stream of a message ends with an error that comes in its middle', async () => {
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'Half' };
      throw new ModelError('server_is_overloaded', 'Too much to do.');
    });
    const events = await eventsOf({});
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
    expect(events.map(({ type }) => type)).not.toContain('message_stop');
  });
});

describe('a message', () => {
  it('a message is the same whole and streamed', async () => {
    const message = await bothAnswers(
      [
        { type: 'text', delta: 'Let me look.' },
        { type: 'function_call', name: 'look', callId: 'call_1' },
        { type: 'function_call_arguments', delta: '{"at":1}' },
        USAGE,
      ],
      { tools: [LOOK] },
    );
    expect(message.content).toMatchObject([
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 1 } },
    ]);
    expect(message.usage).toMatchObject({ input_tokens: 5, output_tokens: 7, cache_read_input_tokens: 4 });
  });

  it.each<[string, string, object]>([
    ['a list', '[1]', { invalid_arguments: '[1]' }],
    ['a text', ' "one"', { invalid_arguments: ' "one"' }],
    ['null', 'null', { invalid_arguments: 'null' }],
    ['no JSON', 'one', { invalid_arguments: 'one' }],
    ['nothing', '', {}],
    ['blanks and an object', ' \n{"at":1}', { at: 1 }],
  ])(
    'a message has an object as the input of a call for which the model writes %s, and can be sent back',
    async (_, json, input) => {
      const script: readonly ModelEvent[] = [
        { type: 'function_call', name: 'look', callId: 'call_1' },
        ...Array.from(json, (delta): ModelEvent => ({ type: 'function_call_arguments', delta })),
      ];
      const { content } = await bothAnswers(script, { tools: [LOOK] });
      expect(content).toMatchObject([{ type: 'tool_use', input }]);
      const back = content as Anthropic.ContentBlockParam[];
      await client().messages.create({
        ...HELLO,
        messages: [...HELLO.messages, { role: 'assistant', content: back }, { role: 'user', content: [RESULT] }],
      });
    },
  );

  it.each<[string, readonly ModelEvent[], string]>([
    ['end_turn', [{ type: 'text', delta: 'ok' }], 'ok'],
    [
      'max_tokens',
      [
        { type: 'text', delta: 'o' },
        { type: 'finish', reason: 'length' },
      ],
      'o',
    ],
    ['refusal', [{ type: 'refusal', delta: 'No.' }], 'No.'],
    [
      'refusal',
      [
        { type: 'text', delta: 'x' },
        { type: 'finish', reason: 'content_filter' },
      ],
      'x',
    ],
  ])('a message ends with %s', async (reason, script, text) => {
    const message = await bothAnswers(script);
    expect([message.stop_reason, message.content]).toMatchObject([reason, [{ type: 'text', text }]]);
  });

  it.each([
    ['in one piece', ['One. STOP Two.']],
    ['across pieces', ['One. S', 'TO', 'P Two.']],
    ['before the end of another', ['One. ST', 'OP', ' END']],
  ])('a message is cut before a stop sequence that comes %s', async (_, deltas) => {
    const script = deltas.map((delta) => ({ type: 'text', delta }) as const);
    const message = await bothAnswers(script, { stop_sequences: ['END', 'STOP'] });
    expect(message).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'STOP',
      content: [{ type: 'text', text: 'One. ' }],
    });
  });

  it('a message is whole where a stop sequence only begins', async () => {
    const script = ['One. S', 'TO'].map((delta) => ({ type: 'text', delta }) as const);
    const message = await bothAnswers(script, { stop_sequences: ['STOP'] });
    expect(message).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null, content: [{ text: 'One. STO' }] });
  });
});
