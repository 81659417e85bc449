import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Agent, Runner } from '@openai/agents-core';
import { OpenAIProvider, OpenAIResponsesCompactionSession } from '@openai/agents-openai';

import { ModelError, type ModelEvent } from '../../src/index.js';
import { Seals } from '../../src/context/seals/index.js';
import { StoreUnavailableError } from '../../src/state/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { longText, outline, say, seenIn, TRIGGER } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';

describe('protocol §1.1: POST /responses/compact', () => {
  const service = useService({ providers: [ScriptedProvider] });

  beforeEach(() => {
    service.provider.turns.length = 0;
    service.provider.otherwise(async function* () {
      yield say('ok');
    });
  });

  const input = [
    { role: 'user' as const, content: 'first' },
    { role: 'assistant' as const, content: 'answer' },
  ];

  it('/responses/compact gives a context from which a new chain begins, over HTTP and WebSocket', async () => {
    service.provider.reply(...say('SUMMARY', 30, 3));
    const client = service.client();
    const compacted = await client.responses.compact({ model: 'm', input, instructions: 'Be brief.' });
    expect(compacted).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response.compaction',
      created_at: expect.any(Number),
      output: [
        { type: 'message', role: 'user', id: expect.stringMatching(/^msg_/), content: [{ text: 'first' }] },
        { type: 'compaction', id: expect.stringMatching(/^cmp_/), encrypted_content: expect.any(String) },
      ],
      usage: { input_tokens: 30, output_tokens: 3, total_tokens: 33 },
    });
    expect(service.provider.turns[0]?.settings.instructions).toBe('Be brief.');
    const next = [...compacted.output, { role: 'user', content: 'next' }];
    const first = await client.responses.create({ model: 'm', input: next as never });
    await using socket = await SocketClient.open(service);
    const shape = { model: 'm', store: false };
    const { response } = await socket.turn({ ...shape, input: next });
    await socket.turn({ ...shape, input: 'on', previous_response_id: response.id });
    await client.responses.create({ model: 'm', input: 'on', previous_response_id: first.id });
    const begun = ['user first', 'assistant [SUMMARY]', 'user next'];
    const continued = [...begun, 'assistant ok', 'user on'];
    expect(service.provider.turns.slice(1).map(seenIn)).toEqual([begun, begun, continued, continued]);
  });

  it('/responses/compact gives the messages of the user in order, with their images, however often a context is compacted', async () => {
    const client = service.client();
    const compact = async (items: readonly object[]): Promise<readonly object[]> =>
      (await client.responses.compact({ model: 'm', input: items as never })).output;
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' };
    const shown = { role: 'user', content: [{ type: 'input_text', text: 'second' }, image] };
    const once = await compact([...input, shown]);
    expect(outline(once as never)).toEqual(['user first', 'user second', 'compaction']);
    expect(once[1]).toMatchObject({ content: [{ text: 'second' }, image] });
    const twice = await compact([...once, { role: 'user', content: 'third' }]);
    expect(outline(twice as never)).toEqual(['user first', 'user second', 'user third', 'compaction']);
  });

  it('/responses/compact goes on from what a trigger made, whose seal has the messages of the user', async () => {
    const first = await service.api.create({ input: 'first' });
    const asked = { model: 'm', previous_response_id: first.id, input: [TRIGGER] };
    const { output } = await service.client().responses.create(asked as never);
    expect(outline(output as never)).toEqual(['compaction']);
    const alone = [...output, { role: 'user', content: 'second' }];
    const { body: sent } = await service.api.post('responses/compact', { model: 'm', input: alone });
    expect(outline(sent['output'] as never)).toEqual(['user first', 'user second', 'compaction']);
    const next = await service.api.create({ input: 'second', previous_response_id: first.id });
    const chained = { model: 'm', previous_response_id: next.id };
    const { body } = await service.api.post('responses/compact', chained);
    expect(outline(body['output'] as never)).toEqual(['user first', 'user second', 'compaction']);
  });

  it('/responses/compact takes a chain, or a string', async () => {
    const first = await service.api.create({ input: 'first' });
    service.provider.turns.length = 0;
    const chain = await service.api.post('responses/compact', { model: 'm', previous_response_id: first.id });
    const text = await service.api.post('responses/compact', { model: 'm', input: 'alone' });
    expect([chain.status, text.status]).toEqual([200, 200]);
    expect(service.provider.turns.map(seenIn)).toEqual([['user first', 'assistant ok'], ['user alone']]);
  });

  it('/responses/compact reads a conversation, even while it is locked, and does not change it', async () => {
    const { body: made } = await service.api.post('conversations', { items: input });
    const conversation = made['id'] as string;
    const reached = Promise.withResolvers<true>();
    const released = Promise.withResolvers<true>();
    service.provider.play(async function* () {
      reached.resolve(true);
      await released.promise;
      yield say('ok');
    });
    const running = service.api.create({ input: 'on', conversation });
    await reached.promise;
    const body = { model: 'm', conversation };
    expect((await service.api.post('responses/compact', body)).status).toBe(200);
    released.resolve(true);
    await running;
    const { body: items } = await service.api.get(`conversations/${conversation}/items`);
    expect(items['data']).toHaveLength(4);
    expect(service.provider.turns.map(seenIn)[1]).toEqual(['user first', 'assistant answer']);
  });

  it('/responses/compact stores nothing', async () => {
    const { id } = await service.client().responses.compact({ model: 'm', input });
    const { status, body } = await service.api.post('responses', { model: 'm', input: 'x', previous_response_id: id });
    expect([status, body]).toMatchObject([400, { error: { code: 'previous_response_not_found' } }]);
    expect((await service.api.get(`responses/${id}`)).status).toBe(404);
  });

  it.each([
    [{ input }, 400, 'missing_required_parameter', 'model'],
    [{ model: '', input }, 400, 'model_not_found', 'model'],
    [{ model: 'm' }, 400, 'missing_required_parameter', 'input'],
    [{ model: 'm', input, service_tier: 'warp' }, 400, 'invalid_value', 'service_tier'],
    [{ model: 'm', input, prompt_cache_key: 'x'.repeat(65) }, 400, 'string_above_max_length', 'prompt_cache_key'],
    [{ model: 'm', input, instrctions: 'x' }, 400, 'unknown_parameter', 'instrctions'],
    [{ model: 'm', input: [{ type: 'compaction_trigger' }, ...input] }, 400, 'invalid_value', 'input[0]'],
    [{ model: 'm', conversation: 'conv_x' }, 404, null, null],
    [
      { model: 'm', conversation: 'conv_x', previous_response_id: 'resp_x' },
      400,
      'mutually_exclusive_parameters',
      null,
    ],
    [{ model: 'm', previous_response_id: 'resp_x' }, 400, 'previous_response_not_found', 'previous_response_id'],
  ])('/responses/compact refuses %j', async (body, status, code, param) => {
    const answer = await service.api.post('responses/compact', body);
    expect([answer.status, answer.body]).toMatchObject([status, { error: { code, param } }]);
    expect(service.provider.turns).toHaveLength(0);
  });

  it.each<readonly [string, readonly ModelEvent[]]>([
    ['is empty', [{ type: 'finish', reason: 'stop' }]],
    ['is blank', say(' \n')],
    ['is longer than the model was told', say(longText('long', 20_000))],
    ['is refused', [{ type: 'refusal', delta: 'No.' }]],
    [
      'is cut',
      [
        { type: 'text', delta: 'It was' },
        { type: 'finish', reason: 'length' },
      ],
    ],
    ['is a call', [{ type: 'function_call', name: 'f', callId: 'c' }]],
  ])('/responses/compact fails when the summary %s', async (_, events) => {
    service.provider.reply(...events);
    const { status, body } = await service.api.post('responses/compact', { model: 'm', input });
    expect([status, body]).toMatchObject([500, { error: { code: 'server_error' } }]);
    expect(body['error']).toMatchObject({ message: expect.stringContaining('Nothing was changed.') });
  });

  it('/responses/compact fails as the model does', async () => {
    service.provider.play(() => {
      throw new ModelError('rate_limit_exceeded', 'Too many requests.', { status: 429 });
    });
    const { status, body } = await service.api.post('responses/compact', { model: 'm', input });
    expect([status, body]).toMatchObject([429, { error: { code: 'rate_limit_exceeded' } }]);
  });

  it('/responses/compact is a route for POST only', async () => {
    const answer = await fetch(`${service.baseURL}/responses/compact`, { method: 'PUT' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it.each(['input', 'previous_response_id'] as const)(
    '/responses/compact serves the compaction session of the Agents SDK, by %s',
    async (compactionMode) => {
      const client = service.client();
      const session = new OpenAIResponsesCompactionSession({ client, model: 'gpt-5', compactionMode });
      const modelProvider = new OpenAIProvider({ openAIClient: client, useResponses: true });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const agent = new Agent({ name: 'A', model: 'gpt-5' });
      await runner.run(agent, 'first', { session });
      await runner.run(agent, 'second', { session });
      service.provider.reply(...say('SUMMARY', 30, 3));
      await session.runCompaction({ force: true });
      expect((await session.getItems()).map(({ type }) => type)).toEqual(['message', 'message', 'compaction']);
      await runner.run(agent, 'third', { session });
      const seen = service.provider.turns.at(-1);
      expect(seen && seenIn(seen)).toEqual(['user first', 'user second', 'assistant [SUMMARY]', 'user third']);
    },
  );
});

describe('what a compaction keeps', () => {
  const environment = { COMPACTION_KEEP_TOKENS: 900, COMPACTION_PROMPT: 'Tell me.', COMPACTION_MAX_SUMMARY_TOKENS: 77 };
  const service = useService({ providers: [ScriptedProvider], environment });

  const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';
  const picture = (name: string): object => ({
    role: 'user',
    content: [
      { type: 'input_text', text: name },
      { type: 'input_image', image_url: IMAGE, detail: 'auto' },
    ],
  });

  it('what a compaction keeps is configurable, and images are kept with their messages or shown to the model', async () => {
    service.provider.reply(...say('SUMMARY'));
    const input = [
      { role: 'system', content: 'rules' },
      picture('old'),
      { role: 'assistant', content: 'answer' },
      picture('new'),
      { role: 'user', content: longText('newest', 50) },
    ];
    const compacted = await service.client().responses.compact({ model: 'm', input: input as never });
    const [asked] = service.provider.turns;
    expect(asked).toMatchObject({ settings: { max_output_tokens: 77, text: { format: { type: 'text' } } } });
    expect(asked?.context.at(-1)).toMatchObject({ role: 'user', content: [{ text: 'Tell me.' }] });
    expect(JSON.stringify(asked?.context).split(IMAGE)).toHaveLength(3);
    await service.client().responses.create({ model: 'm', input: compacted.output as never });
    const next = service.provider.turns.at(-1);
    expect(next && seenIn(next)).toEqual(['system rules', 'user new', 'user newest', 'assistant [SUMMARY]']);
    expect(JSON.stringify(next?.context).split(IMAGE)).toHaveLength(2);
  });
});

describe('a compaction item', () => {
  const environment = { MAX_OUTPUT_CHARACTERS: 20_000, COMPACTION_MAX_SUMMARY_TOKENS: 100 };
  const service = useService({ providers: [ScriptedProvider], environment });

  it('a compaction item keeps no more than its seal may have', async () => {
    const umlauts = 'ä'.repeat(5000);
    service.provider.reply(...say('SUMMARY'));
    const input = [
      { role: 'user' as const, content: `old ${umlauts}` },
      { role: 'user' as const, content: `new ${umlauts}` },
      { role: 'assistant' as const, content: 'ok' },
    ];
    const { output } = await service.client().responses.compact({ model: 'm', input });
    await service.client().responses.create({ model: 'm', input: output as never });
    const next = service.provider.turns.at(-1);
    expect(next && seenIn(next)).toEqual(['user new', 'assistant [SUMMARY]']);
  });

  it('a compaction item is refused for instructions that it has no room for', async () => {
    const input = [
      { role: 'system', content: 'ä'.repeat(10_000) },
      { role: 'user', content: 'x' },
    ];
    const { status, body } = await service.api.post('responses/compact', { model: 'm', input });
    expect([status, body]).toMatchObject([400, { error: { code: 'context_length_exceeded', param: 'input' } }]);
  });

  it('a compaction is not begun without a key to seal it', async () => {
    service.provider.turns.length = 0;
    const ring = jest.spyOn(service.app.get(Seals, { strict: false }), 'ring');
    ring.mockImplementation(() => {
      throw new StoreUnavailableError('no key');
    });
    const { status } = await service.api.post('responses', {
      model: 'm',
      input: [{ role: 'user', content: 'x' }, TRIGGER],
    });
    ring.mockRestore();
    expect(status).toBe(503);
    expect(service.provider.turns).toHaveLength(0);
  });
});

describe('the simulator', () => {
  const service = useService({});

  it('the simulator summarises the same context in the same way', async () => {
    const model = 'gpt-4.1';
    const input = [
      { role: 'user' as const, content: 'Where is Oslo?' },
      { role: 'assistant' as const, content: 'In Norway.' },
    ];
    const contexts = await Promise.all([1, 2].map(async () => service.client().responses.compact({ model, input })));
    expect(contexts[0]?.usage).toEqual(contexts[1]?.usage);
    const compaction = contexts[0]?.output ?? [];
    const again = await service.client().responses.compact({ model, input: compaction as never });
    expect(again.output).toHaveLength(2);
    const next = { model, input: [...compaction, { role: 'user', content: 'And Bergen?' }] as never };
    expect((await service.client().responses.create(next)).status).toBe('completed');
  });
});
