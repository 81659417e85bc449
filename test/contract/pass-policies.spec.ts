import { beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { runTools, TestPolicy, WORDS } from '../support/test-policy.js';
import { TRANSPORTS } from '../support/transports.js';

type Item = Readonly<Record<string, unknown>>;

const MAX_PASSES = 3;

/** Two calls side by side, and then the end of the pass. */
function twoCalls(...names: readonly [string, string]): readonly ModelEvent[] {
  const open = names.map(
    (name, index) => ({ type: 'function_call', name, callId: `call_${index}`, key: name }) as const,
  );
  const write = names.map((name) => ({ type: 'function_call_arguments', delta: '{}', key: name }) as const);
  return [...open, ...write, { type: 'usage', input: 5, output: 2 }, { type: 'finish', reason: 'stop' }];
}

describe.each(TRANSPORTS)('a policy that answers tools by itself, over $name', (transport) => {
  const policy = new TestPolicy();
  const observer = new RecordingObserver();
  const service = useService({
    providers: [ScriptedProvider],
    imports: [policy.asModule(), observer.asModule()],
    environment: { MAX_PASSES },
  });

  beforeEach(() => {
    policy.follow = () => runTools('weather', 'time');
    service.provider.turns.length = 0;
  });

  const run = async (body: object = {}): Promise<{ id: string; status: string; output: readonly Item[] } & Item> => {
    const { response } = await transport.run(service, { model: 'm', input: 'How is it?', ...body });
    return response as never;
  };
  const typesOf = (items: readonly Item[] | undefined): readonly unknown[] | undefined =>
    items?.map(({ type }) => type);

  it('a policy has the model asked again in the same response, and goes on with indexes, numbers and usage', async () => {
    service.provider.reply(...twoCalls('weather', 'time')).reply(...WORDS);
    const { id, status, output, usage } = await run();
    expect(status).toBe('completed');
    expect(typesOf(output)).toEqual(['function_call', 'function_call', 'message']);
    expect(usage).toMatchObject({ input_tokens: 25, output_tokens: 5, total_tokens: 30 });
    const [first, second] = service.provider.turns;
    expect(service.provider.turns).toHaveLength(2);
    expect(typesOf(second?.context)).toEqual([
      'message',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
    ]);
    expect(second?.input).toMatchObject([
      { type: 'function_call_output', call_id: 'call_0', output: 'weather ran' },
      { type: 'function_call_output', call_id: 'call_1', output: 'time ran' },
    ]);
    expect(first?.parent).toBeNull();
    expect(second?.parent).toEqual({ responseId: id, origin: { provider: 'scripted' } });
    expect(await service.client().responses.retrieve(id)).toMatchObject({ output });
  });

  it('a policy lets the next turn go on from what the model was given', async () => {
    service.provider.reply(...twoCalls('weather', 'time')).reply(...WORDS);
    const { id } = await run();
    await run({ previous_response_id: id, input: 'And tomorrow?' });
    expect(typesOf(service.provider.turns.at(-1)?.context)).toEqual([
      'message',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
      'message',
      'message',
    ]);
    const { data } = await service.client().responses.inputItems.list(id);
    expect(typesOf(data as unknown as readonly Item[])).toEqual(['message']);
  });

  it('a policy may keep the calls from the client', async () => {
    policy.follow = () => {
      const calls: { type: string; call_id: string | undefined; name: string; arguments: string }[] = [];
      return {
        look: (event) => {
          if (event.type !== 'function_call') return event.type === 'function_call_arguments' ? undefined : event;
          calls.push({ type: 'function_call', call_id: event.callId, name: event.name, arguments: '{}' });
          return undefined;
        },
        answer: () => {
          const called = calls.splice(0);
          return [
            ...called,
            ...called.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ran' })),
          ];
        },
      };
    };
    service.provider.reply(...twoCalls('weather', 'time')).reply(...WORDS);
    const { id, output } = await run();
    expect(typesOf(output)).toEqual(['message']);
    await run({ previous_response_id: id, input: 'And tomorrow?' });
    expect(typesOf(service.provider.turns.at(-1)?.context)).toHaveLength(1 + 4 + 1 + 1);
  });

  it('a policy may hold text back, and change it', async () => {
    policy.follow = () => {
      let held = '';
      return {
        look: (event) => {
          if (event.type === 'text') held += event.delta;
          if (event.type !== 'finish') return event.type === 'text' ? undefined : event;
          return [{ type: 'text', delta: held.toUpperCase() }, { type: 'refusal', delta: 'No.' }, event];
        },
      };
    };
    service.provider.reply(...WORDS);
    const { output } = await run();
    expect(output).toMatchObject([
      {
        content: [
          { type: 'output_text', text: 'IT IS SUNNY.' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ]);
  });

  it('a policy leaves the calls of other tools to the client, whose next turn goes on with all outputs', async () => {
    service.provider.reply(...twoCalls('weather', 'ask_user'));
    const { id, status, output } = await run();
    expect({ status, types: typesOf(output) }).toEqual({
      status: 'completed',
      types: ['function_call', 'function_call'],
    });
    expect(service.provider.turns).toHaveLength(1);
    const answer = { type: 'function_call_output', call_id: 'call_1', output: 'yes' };
    await run({ previous_response_id: id, input: [answer] });
    expect(service.provider.turns.at(-1)?.context).toMatchObject([
      { type: 'message' },
      { type: 'function_call', call_id: 'call_0' },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_0' },
      { type: 'function_call_output', call_id: 'call_1', output: 'yes' },
    ]);
  });

  it('a policy ends the turn where max_tool_calls would be exceeded, and counts over all passes', async () => {
    service.provider.reply(...twoCalls('weather', 'time'));
    expect(typesOf((await run({ max_tool_calls: 1 })).output)).toEqual(['function_call', 'function_call']);
    expect(service.provider.turns).toHaveLength(1);
    service.provider.reply(...twoCalls('weather', 'time')).reply({ type: 'function_call', name: 'weather' });
    const { status, output } = await run({ max_tool_calls: 2 });
    expect(status).toBe('completed');
    expect(typesOf(output)).toEqual(['function_call', 'function_call', 'function_call']);
    expect(service.provider.turns).toHaveLength(1 + 2);
  });

  it('a policy ends the turn with the last of MAX_PASSES', async () => {
    for (let pass = 0; pass < MAX_PASSES; pass++) service.provider.reply({ type: 'function_call', name: 'weather' });
    const { status, output } = await run();
    expect({ status, calls: output.length, asked: service.provider.turns.length }).toEqual({
      status: 'completed',
      calls: MAX_PASSES,
      asked: MAX_PASSES,
    });
  });

  it('a policy is not asked about an answer that was cut off', async () => {
    service.provider.reply({ type: 'function_call', name: 'weather' }, { type: 'finish', reason: 'length' });
    expect(await run()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'function_call', status: 'incomplete' }],
    });
    expect(service.provider.turns).toHaveLength(1);
  });

  it('a policy fails the response when it fails itself, and says nothing of why', async () => {
    policy.follow = () => ({ answer: () => Promise.reject(new Error('a secret')) });
    service.provider.reply(...WORDS);
    const { status, error, output, usage } = await run();
    expect({ status, code: (error as Item).code }).toEqual({ status: 'failed', code: 'server_error' });
    expect(JSON.stringify(error)).not.toContain('secret');
    expect(output).toMatchObject([{ type: 'message', status: 'completed' }]);
    expect(usage).toMatchObject({ total_tokens: 23 });
  });

  const circle: Record<string, unknown> = { type: 'message', role: 'user' };
  circle.content = [circle];
  const call = { type: 'function_call', call_id: 'mine', name: 'f', arguments: '{}' };
  it.each([
    ['an output of no call', [{ type: 'function_call_output', call_id: 'none', output: 'x' }]],
    ['a call without its output', [call]],
    ['an item twice', [1, 2].map(() => ({ type: 'message', id: 'msg_1', role: 'user', content: [] }))],
    ['a reference', [{ type: 'item_reference', id: 'msg_1' }]],
    ['what is no JSON', [circle]],
    ['what is no item', [null]],
  ])('a policy fails the response when it gives %s', async (_, items) => {
    policy.follow = () => ({ answer: () => items as never });
    service.provider.reply(...WORDS);
    expect(await run()).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(service.provider.turns).toHaveLength(1);
  });

  it('a policy cannot change what was said', async () => {
    policy.follow = () => ({
      answer: ({ output }) => {
        for (const item of output) Object.assign(item, { content: [] });
        return undefined;
      },
    });
    service.provider.reply(...WORDS);
    expect((await run()).output).toMatchObject([{ content: [{ text: 'It is sunny.' }] }]);
  });

  it('the response keeps what the first pass said and cost when the model fails in the second', async () => {
    service.provider.reply(...twoCalls('weather', 'time')).play(async function* () {
      yield { type: 'text', delta: 'It is' };
      throw new Error('a secret');
    });
    const { status, output, usage } = await run();
    expect({ status, types: typesOf(output) }).toEqual({
      status: 'failed',
      types: ['function_call', 'function_call', 'message'],
    });
    expect(output.at(-1)).toMatchObject({ status: 'incomplete' });
    // The first pass has reported 7; the second one is counted: what was asked, and what it has written.
    expect((usage as { readonly total_tokens: number }).total_tokens).toBeGreaterThan(7);
    expect((await observer.whenSettled(1)).at(-1)).toMatchObject({ status: 'failed', usage });
  });

  it('a policy costs nothing where it has nothing to do with a turn', async () => {
    policy.follow = () => undefined;
    service.provider.reply({ type: 'function_call', name: 'weather' });
    expect(typesOf((await run()).output)).toEqual(['function_call']);
  });
});
