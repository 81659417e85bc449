import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { BadRequestError, NotFoundError } from 'openai';

import { ModelError, type Item } from '../../src/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';

describe.each(EVERY_STATE)('a conversation with the official SDK in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let client: OpenAI;

  beforeAll(() => {
    client = service.client();
  });

  beforeEach(() => void (service.provider.turns.length = 0));

  const say = (
    input: OpenAI.Responses.ResponseInput | string,
    more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming> = {},
  ): Promise<OpenAI.Responses.Response> => client.responses.create({ model: 'scripted', input, ...more });

  const answer = (text: string): ScriptedProvider => service.provider.reply({ type: 'text', delta: text });

  /** What the model saw in its latest turn, as `role: text`. */
  const seen = (): readonly string[] => (service.provider.turns.at(-1)?.context ?? []).map(describeItem);

  it('the official SDK creates a response', async () => {
    answer('Hello.');
    const { data, request_id: requestId } = await client.responses
      .create({ model: 'scripted', input: 'Hi' })
      .withResponse();
    expect(data).toMatchObject({ status: 'completed', output_text: 'Hello.', previous_response_id: null });
    expect(requestId).toMatch(/^req_/);
    expect(seen()).toEqual(['user: Hi']);
  });

  it('the official SDK streams with create', async () => {
    service.provider.reply({ type: 'text', delta: 'Hel' }, { type: 'text', delta: 'lo.' });
    const events = await Array.fromAsync(
      await client.responses.create({ model: 'scripted', input: 'Hi', stream: true }),
    );
    checkEventOrder(events, { transport: 'sse' });
    expect(events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []))).toEqual([
      'Hel',
      'lo.',
    ]);
  });

  it('the official SDK streams with the helper, which rebuilds the response from its events', async () => {
    service.provider.reply(
      { type: 'reasoning_summary', delta: 'Hm.' },
      { type: 'text', delta: 'Hel' },
      { type: 'text', delta: 'lo.' },
      { type: 'function_call', name: 'look', callId: 'call_1' },
      { type: 'function_call_arguments', delta: '{"x":1}' },
    );
    const stream = client.responses.stream({ model: 'scripted', input: 'Hi' });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    const final = await stream.finalResponse();
    expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    expect(final.output_text).toBe('Hello.');
    expect(types.at(-1)).toBe('response.completed');
  });

  it('a conversation shows the model the whole chain', async () => {
    answer('Two.');
    const first = await say('One?', { store: true });
    answer('Four.');
    const second = await say('Three?', { previous_response_id: first.id });
    answer('Six.');
    const third = await say([{ role: 'user', content: 'Five?' }], { previous_response_id: second.id });
    expect(third.previous_response_id).toBe(second.id);
    expect(seen()).toEqual(['user: One?', 'assistant: Two.', 'user: Three?', 'assistant: Four.', 'user: Five?']);
    expect(service.provider.turns.at(-1)?.input.map(describeItem)).toEqual(['user: Five?']);
    expect(service.provider.turns.at(-1)?.parent).toMatchObject({
      responseId: second.id,
      origin: { provider: 'scripted' },
    });
  });

  it('a conversation continues from a stream, and streams a continuation', async () => {
    answer('Two.');
    const first = await client.responses.stream({ model: 'scripted', input: 'One?' }).finalResponse();
    answer('Four.');
    const second = client.responses.stream({ model: 'scripted', input: 'Three?', previous_response_id: first.id });
    expect((await second.finalResponse()).previous_response_id).toBe(first.id);
    expect(seen()).toEqual(['user: One?', 'assistant: Two.', 'user: Three?']);
  });

  it('a conversation branches, and continues one response twice at once', async () => {
    answer('Root.');
    const root = await say('Start');
    answer('Left answer.').reply({ type: 'text', delta: 'Right answer.' });
    const [left, right] = await Promise.all([
      say('Left', { previous_response_id: root.id }),
      say('Right', { previous_response_id: root.id }),
    ]);
    await say('More', { previous_response_id: left.id });
    expect(seen()).toEqual([
      'user: Start',
      'assistant: Root.',
      'user: Left',
      `assistant: ${left.output_text}`,
      'user: More',
    ]);
    await say('More', { previous_response_id: right.id });
    expect(seen()).toEqual([
      'user: Start',
      'assistant: Root.',
      'user: Right',
      `assistant: ${right.output_text}`,
      'user: More',
    ]);
    expect(new Set([left.output_text, right.output_text])).toEqual(new Set(['Left answer.', 'Right answer.']));
  });

  it('a turn that continues a conversation does not inherit instructions, tools or other settings', async () => {
    const first = await say('Hi', {
      instructions: 'Speak like a pirate.',
      temperature: 0.3,
      tools: [{ type: 'function', name: 'look', parameters: null, strict: null }],
    });
    const second = await say('Again', { previous_response_id: first.id });
    expect(second).toMatchObject({ instructions: null, temperature: 1, tools: [] });
    expect(service.provider.turns.at(-1)?.settings).toMatchObject({ instructions: null, temperature: 1, tools: [] });
    expect(seen().join()).not.toContain('pirate');
  });

  it('the service keeps nothing of a response with store: false', async () => {
    const { id } = await say('Hi', { store: false });
    await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(say('Again', { previous_response_id: id })).rejects.toMatchObject(notFound(id));
  });

  it('a conversation continues a stored response without storing the continuation', async () => {
    const first = await say('Hi');
    const second = await say('Again', { previous_response_id: first.id, store: false });
    expect(second).toMatchObject({ store: false });
    await expect(say('Once more', { previous_response_id: second.id })).rejects.toMatchObject(notFound(second.id));
    await expect(say('Once more', { previous_response_id: first.id })).resolves.toMatchObject({ status: 'completed' });
  });

  it('the service keeps a failed response to look at, not to continue', async () => {
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'I was' };
      throw new ModelError('server_error', 'The model broke.');
    });
    const failed = await say('Hi');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'server_error', message: 'The model broke.' } });
    await expect(client.responses.retrieve(failed.id)).resolves.toMatchObject({ status: 'failed' });
    await expect(say('Again', { previous_response_id: failed.id })).rejects.toMatchObject({
      ...notFound(failed.id),
      message: `400 Previous response with id '${failed.id}' has failed and cannot be continued. Send its input again, with the previous_response_id that it had.`,
    });
  });

  it('a conversation continues an incomplete response', async () => {
    service.provider.reply({ type: 'text', delta: 'I was' }, { type: 'finish', reason: 'length' });
    const first = await say('Hi');
    expect(first.status).toBe('incomplete');
    await say('Go on', { previous_response_id: first.id });
    expect(seen()).toEqual(['user: Hi', 'assistant: I was', 'user: Go on']);
  });

  it.each(['resp_0123456789abcdef0123456789abcdef', 'resp_x'])(
    'the service refuses the unknown parent %s',
    async (id) => {
      const refused = say('Hi', { previous_response_id: id });
      await expect(refused).rejects.toBeInstanceOf(BadRequestError);
      await expect(refused).rejects.toMatchObject(notFound(id));
      expect(service.provider.turns).toHaveLength(0);
    },
  );

  it('a conversation accepts empty input behind a parent', async () => {
    answer('Two.');
    const first = await say('One?');
    await say([], { previous_response_id: first.id });
    expect(seen()).toEqual(['user: One?', 'assistant: Two.']);
  });

  it('a conversation gives the model its reasoning back, in a chain and replayed by the client', async () => {
    service.provider.reply(
      { type: 'reasoning_summary', delta: 'Hm.' },
      { type: 'reasoning_encrypted', content: 'gAAAA' },
      ...two,
    );
    const first = await say('One?');
    await say('Three?', { previous_response_id: first.id });
    expect(service.provider.turns.at(-1)?.context[1]).toMatchObject({ type: 'reasoning', encrypted_content: 'gAAAA' });
    await say([{ role: 'user', content: 'One?' }, ...first.output, { role: 'user', content: 'Three?' }] as never, {
      store: false,
    });
    expect(service.provider.turns.at(-1)?.context[1]).toEqual(first.output[0]);
    expect(seen()).toEqual(['user: One?', 'reasoning', 'assistant: Two.', 'user: Three?']);
  });
});

const two = [{ type: 'text', delta: 'Two.' }] as const;

function notFound(id: string): object {
  return {
    status: 400,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
    message: `400 Previous response with id '${id}' not found.`,
  };
}

function describeItem(item: Item): string {
  if (item.type !== 'message') return item.type;
  const content = item['content'] as readonly { readonly text?: string }[];
  return `${String(item['role'])}: ${content.map(({ text }) => text ?? '').join('')}`;
}
