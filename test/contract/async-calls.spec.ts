import { beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { runTools, TestPolicy } from '../support/test-policy.js';
import type { WireResponse } from '../support/transport.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const TOOLS = [
  { type: 'function', name: 'build', async: true },
  { type: 'function', name: 'look' },
  { type: 'custom', name: 'write', async: true },
  {
    type: 'namespace',
    name: 'shop',
    description: 'A shop.',
    tools: [
      { type: 'function', name: 'order', async: true },
      { type: 'function', name: 'build' },
    ],
  },
];

const BUILD: ModelEvent = { type: 'function_call', name: 'build', callId: 'call_build' };
const built = (output = 'done'): object => ({ type: 'function_call_output', call_id: 'call_build', output });

describe.each(STATES)('protocol §3.4: asynchronous calls in $state', ({ open }) => {
  const policy = new TestPolicy();
  const service = useService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], imports: [policy.asModule()] }),
  );

  beforeEach(() => {
    policy.follow = () => undefined;
    service.provider.turns.length = 0;
  });

  const ask = (body: object): Promise<WireResponse> =>
    service.api.create({ model: 'scripted', input: 'Hi', tools: TOOLS, ...body });

  const call = { type: 'function_call', call_id: 'call_build', name: 'build', arguments: '{}' };

  const refusalOf = (body: object): Promise<unknown> => ask(body).catch((refusal: unknown) => refusal);

  it.each(TRANSPORTS)('asynchronous calls say so over $name', async (transport) => {
    service.provider.reply(
      BUILD,
      { type: 'custom_tool_call', name: 'write', callId: 'call_write' },
      { type: 'function_call', name: 'order', namespace: 'shop', callId: 'call_order' },
      { type: 'function_call', name: 'build', namespace: 'shop', callId: 'call_other' },
      { type: 'function_call', name: 'look', callId: 'call_look' },
    );
    const { response, events } = await transport.run(service, { model: 'scripted', input: 'Hi', tools: TOOLS });
    const flags = (items: readonly unknown[]): unknown[] =>
      items.map((item) => [(item as WireResponse)['call_id'], (item as WireResponse)['async']]);
    const expected = [
      ['call_build', true],
      ['call_write', true],
      ['call_order', true],
      ['call_other', undefined],
      ['call_look', undefined],
    ];
    expect(flags(response['output'] as readonly unknown[])).toEqual(expected);
    expect(response['tools']).toMatchObject(TOOLS);
    for (const type of ['response.output_item.added', 'response.output_item.done']) {
      const items = events?.filter((event) => event.type === type).map(({ item }) => item);
      if (items !== undefined) expect(flags(items)).toEqual(expected);
    }
  });

  it('asynchronous calls need no output in the next turns, and get one later, once', async () => {
    service.provider.reply(BUILD);
    const first = await ask({});
    const second = await ask({ input: 'And?', previous_response_id: first.id });
    const third = await ask({ input: [built()], previous_response_id: second.id });
    expect(service.provider.turns.at(-1)?.context.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'message',
      'message',
      'function_call_output',
    ]);
    expect(service.provider.turns.at(-1)?.context[1]).toMatchObject({ call_id: 'call_build', async: true });
    expect(await refusalOf({ input: [built('again')], previous_response_id: third.id })).toMatchObject({
      status: 400,
      body: {
        error: {
          code: null,
          param: 'input',
          message: 'The call with call_id call_build already has its output.',
        },
      },
    });
    expect(await refusalOf({ input: [built(), built()], previous_response_id: second.id })).toMatchObject({
      status: 400,
    });
    // A fork knows nothing of the output that another one got.
    await expect(ask({ input: [built()], previous_response_id: first.id })).resolves.toMatchObject({
      status: 'completed',
    });
  });

  it('asynchronous calls need no output where the client sends the whole context itself', async () => {
    const question = { role: 'user', content: 'And?' };
    await expect(ask({ input: [{ ...call, async: true }, question] })).resolves.toMatchObject({ status: 'completed' });
    for (const other of [call, { ...call, async: false }, { ...call, async: null }]) {
      expect(await refusalOf({ input: [other, question] })).toMatchObject({
        status: 400,
        body: { error: { message: 'No tool output found for function call call_build.' } },
      });
    }
    expect(await refusalOf({ input: [{ ...call, async: 'yes' }] })).toMatchObject({
      body: { error: { code: 'invalid_type', param: 'input[0].async' } },
    });
    const again = { ...call, async: true };
    // Models that count from 1 in each answer repeat the ids of their calls.
    await expect(ask({ input: [again, built(), again, built()] })).resolves.toMatchObject({ status: 'completed' });
    await expect(ask({ input: [built(), again, question] })).resolves.toMatchObject({ status: 'completed' });
    expect(await refusalOf({ input: [again, built(), again, built(), built()] })).toMatchObject({ status: 400 });
  });

  it('calls of tools that an item has added are asynchronous too', async () => {
    service.provider.reply(BUILD);
    const { output } = await ask({
      tools: [],
      input: [
        { type: 'additional_tools', role: 'developer', tools: [TOOLS[0]] },
        { role: 'user', content: 'Hi' },
      ],
    });
    expect(output).toMatchObject([{ call_id: 'call_build', async: true }]);
  });

  it('asynchronous calls do not keep a model waiting whose other calls a policy answers', async () => {
    service.provider
      .reply(BUILD, { type: 'function_call', name: 'look', callId: 'call_look' })
      .reply({ type: 'text', delta: 'I go on.' });
    policy.follow = () => runTools('look');
    const { response } = await JSON_TRANSPORT.run(service, { model: 'scripted', input: 'Hi', tools: TOOLS });
    expect(response['output']).toMatchObject([{ name: 'build' }, { name: 'look' }, { type: 'message' }]);
  });
});

describe('tools', () => {
  const service = useService({});

  it.each([
    ['tools[0].async', { type: 'function', name: 'build', async: 'yes' }],
    ['tools[0].async', { type: 'custom', name: 'write', async: 1 }],
    [
      'tools[0].tools[0].async',
      { type: 'namespace', name: 'shop', tools: [{ type: 'function', name: 'order', async: [] }] },
    ],
  ])('a tool cannot be asynchronous otherwise: %s', async (param, tool) => {
    const { status, body } = await service.api.post('responses', { model: 'simulator', input: 'Hi', tools: [tool] });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { code: 'invalid_type', param } } });
  });

  it('tools of the simulator are called asynchronously', async () => {
    const { output } = await service.api.create({ model: 'simulator', input: 'Hi', tools: [TOOLS[0]] });
    expect(output).toMatchObject([{ type: 'function_call', name: 'build', async: true }]);
  });
});
