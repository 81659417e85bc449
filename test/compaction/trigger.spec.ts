import { beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { BACKGROUND_TRANSPORT } from '../support/background.js';
import { say, seenIn, TRIGGER } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { TRANSPORTS } from '../support/transports.js';

const service = useService({ providers: [ScriptedProvider] });

beforeEach(() => {
  service.provider.turns.length = 0;
});

const INPUT = [
  { role: 'user', content: 'first question' },
  { role: 'assistant', content: 'answer' },
  { role: 'user', content: 'second question' },
];

/** A call of an asynchronous tool, without its output. */
const RUNNING = { type: 'function_call', call_id: 'call_1', name: 'build', arguments: '{}', async: true };

describe.each([...TRANSPORTS, BACKGROUND_TRANSPORT])('protocol §6.11: a compaction_trigger over $name', (transport) => {
  it('a compaction_trigger is answered with one compaction item, and nothing else', async () => {
    service.provider.reply(...say('SUMMARY', 70, 7));
    const { response, events } = await transport.run(service, { model: 'm', input: [...INPUT, TRIGGER] });
    expect(response).toMatchObject({
      status: 'completed',
      output: [
        { type: 'compaction', id: expect.stringMatching(/^cmp_/), encrypted_content: expect.stringMatching(/.{40}/) },
      ],
      usage: { input_tokens: 70, output_tokens: 7, total_tokens: 77 },
    });
    expect(events?.map(({ type }) => type) ?? []).toEqual(
      events === undefined
        ? []
        : [
            'response.created',
            'response.in_progress',
            'response.output_item.added',
            'response.compaction.compacting',
            'response.output_item.done',
            'response.completed',
          ],
    );
    const [asked] = service.provider.turns;
    expect(asked).toMatchObject({ purpose: 'summary', parent: null, settings: { tool_choice: 'none', store: false } });
    expect(asked && seenIn(asked)).toEqual(['user first', 'assistant answer', 'user second']);
  });

  it('a compaction_trigger leaves nothing behind when it fails', async () => {
    service.provider.reply({ type: 'text', delta: ' ' }, { type: 'usage', input: 70, output: 7 });
    const { response, events = [] } = await transport.run(service, { model: 'm', input: [...INPUT, TRIGGER] });
    expect(response).toMatchObject({ status: 'failed', output: [], usage: { total_tokens: 77 } });
    expect(events.filter(({ type }) => type.startsWith('response.output_item'))).toEqual([]);
  });

  it('a compaction_trigger begins a chain of its own, or goes on with that of its response', async () => {
    const before = service.provider.turns.length;
    service.provider.reply(...say('SUMMARY'));
    const { response } = await transport.run(service, { model: 'm', input: [...INPUT, TRIGGER] });
    const next = { role: 'user', content: 'third' };
    await transport.run(service, { model: 'm', input: [...(response['output'] as readonly object[]), next] });
    await transport.run(service, { model: 'm', input: [next], previous_response_id: response.id });
    const seen = service.provider.turns.slice(before + 1).map(seenIn);
    const context = ['user first', 'user second', 'assistant [SUMMARY]', 'user third'];
    expect(seen).toEqual([context, context]);
  });
});

/** Calls of each kind that a client answers, with its answer. */
const CALLS = [
  { type: 'function_call', call: { name: 'f', arguments: '{}' }, answer: { output: 'done' } },
  { type: 'custom_tool_call', call: { name: 'f', input: 'x' }, answer: { output: 'done' } },
  {
    type: 'computer_call',
    call: { action: { type: 'screenshot' }, pending_safety_checks: [] },
    answer: { output: { type: 'computer_screenshot', image_url: 'https://example.com/a.png' } },
  },
  { type: 'shell_call', call: { action: { commands: ['ls'] } }, answer: { output: [] } },
  {
    type: 'apply_patch_call',
    call: { operation: { type: 'delete_file', path: 'a' } },
    answer: { output: 'done', status: 'completed' },
  },
] as const;

describe.each([...TRANSPORTS, BACKGROUND_TRANSPORT])('a call that is compacted, over $name', (transport) => {
  it.each(CALLS)(
    'a $type is answered behind a compaction that was asked for before',
    async ({ type, call, answer }) => {
      service.provider.reply(...say('SUMMARY'));
      const calling = { type, call_id: 'call_1', ...call };
      const { response } = await transport.run(service, { model: 'm', input: [...INPUT, calling, TRIGGER] });
      const chains = [
        { previous_response_id: response.id, input: [] },
        { input: response.output as readonly object[] },
      ];
      for (const { input, ...chain } of chains) {
        const next = { model: 'm', ...chain, input: [...input, { role: 'user', content: 'third' }] };
        const words = type.replaceAll('_', ' ');
        await expect(transport.run(service, next)).rejects.toThrow(`No tool output found for ${words} call_1.`);
        const output = { type: `${type}_output`, call_id: 'call_1', ...answer };
        await transport.run(service, { ...next, input: [...input, output] });
        const seen = service.provider.turns.at(-1);
        expect(seen && seenIn(seen)).toEqual([
          'user first',
          'user second',
          'assistant [SUMMARY]',
          `${type} call_1`,
          `${type}_output call_1`,
        ]);
      }
    },
  );
});

describe('a compaction_trigger', () => {
  it('a compaction_trigger keeps asynchronous calls whose output is still to come', async () => {
    service.provider.reply({ type: 'function_call', name: 'build', callId: 'call_1' });
    const tools = [{ type: 'function', name: 'build', async: true }];
    const calling = await service.api.create({ input: INPUT, tools });
    const going = await service.api.create({ input: 'third', previous_response_id: calling.id });
    service.provider.reply(...say('SUMMARY'));
    const compacted = await service.api.create({ input: [TRIGGER], previous_response_id: going.id });
    const asked = service.provider.turns.at(-1);
    expect(asked && seenIn(asked)).not.toContain('function_call call_1');
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'built' };
    await service.api.create({ input: [output], previous_response_id: compacted.id });
    const last = service.provider.turns.at(-1);
    expect(last && seenIn(last).slice(-2)).toEqual(['function_call call_1', 'function_call_output call_1']);
  });

  it.each([
    ['a trigger', 'responses', { input: [...INPUT, RUNNING, TRIGGER], store: false }],
    ['a call', 'responses/compact', { input: [...INPUT, RUNNING] }],
  ])('a compaction_trigger of a client that stores nothing keeps them in its seal: %s', async (_, path, request) => {
    service.provider.reply(...say('SUMMARY'));
    const { body } = await service.api.post(path, { model: 'm', ...request });
    const window = body['output'] as readonly object[];
    const question = { role: 'user', content: 'third' };
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'built' };
    const answered = await service.api.create({ input: [...window, question, output] });
    const seen = service.provider.turns.at(-1);
    expect(seen && seenIn(seen).slice(-3)).toEqual([
      'function_call call_1',
      'user third',
      'function_call_output call_1',
    ]);
    await service.api.create({ input: 'fourth', previous_response_id: answered.id });
    const last = service.provider.turns.length;
    const unknown = { ...output, call_id: 'call_2' };
    expect(await service.api.post('responses', { model: 'm', input: [...window, unknown] })).toMatchObject({
      status: 400,
      body: {
        error: { param: 'input', message: 'No tool call found for function call output with call_id call_2.' },
      },
    });
    expect(service.provider.turns).toHaveLength(last);
  });

  it.each([
    [[TRIGGER, { role: 'user', content: 'after' }], 'input[0]'],
    [[...INPUT, TRIGGER, TRIGGER], 'input[3]'],
  ])('a compaction_trigger must be the last item: %#', async (input, param) => {
    const { status, body } = await service.api.post('responses', { model: 'm', input });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { code: 'invalid_value', param } });
  });

  it('a compaction_trigger needs a context', async () => {
    const { status, body } = await service.api.post('responses', { model: 'm', input: [TRIGGER] });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { param: 'input' } });
  });

  it('a compaction_trigger twice gives one compaction item, with a summary of the summary', async () => {
    service.provider.reply(...say('ONE')).reply(...say('TWO'));
    const first = await service.api.create({ input: [...INPUT, TRIGGER] });
    const second = await service.api.create({ input: [TRIGGER], previous_response_id: first.id });
    expect(second['output']).toEqual([expect.objectContaining({ type: 'compaction' })]);
    await service.api.create({ input: 'third', previous_response_id: second.id });
    expect(service.provider.turns.slice(1).map(seenIn)).toEqual([
      ['user first', 'user second', 'assistant [ONE]'],
      ['user first', 'user second', 'assistant [TWO]', 'user third'],
    ]);
  });

  it('a compaction_trigger of Codex: without a store, streamed over a socket, with tools, and calls in the context', async () => {
    service.provider.reply({ type: 'reasoning', delta: 'Hm.' }, ...say('SUMMARY'));
    const shell = { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} } };
    const calls = [
      { type: 'function_call', call_id: 'call_1', name: 'shell', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'done' },
    ];
    await using client = await SocketClient.open(service);
    const shape = { model: 'm', store: false, stream: true, tools: [shell], include: ['reasoning.encrypted_content'] };
    const developer = { role: 'developer', content: 'rules' };
    const { events = [], response } = await client.turn({
      ...shape,
      input: [developer, ...INPUT, ...calls, TRIGGER],
    });
    const done = events.filter(({ type }) => type === 'response.output_item.done');
    expect(done.map(({ item }) => (item as { readonly type: string }).type)).toEqual(['compaction']);
    const compaction = (response['output'] as readonly object[])[0];
    await client.turn({ ...shape, input: [compaction, { role: 'user', content: 'go' }] });
    expect(service.provider.turns.map(seenIn)).toEqual([
      [
        'developer rules',
        'user first',
        'assistant answer',
        'user second',
        'function_call call_1',
        'function_call_output call_1',
      ],
      ['developer rules', 'user first', 'user second', 'assistant [SUMMARY]', 'user go'],
    ]);
    expect(service.provider.turns[0]?.settings.tools).toHaveLength(1);
  });
});
