import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type OpenAI from 'openai';

import { asTenant } from '../../src/access/index.js';
import { ConversationStore } from '../../src/state/index.js';
import type { ApiClient } from '../support/api-client.js';
import { describeService, useFreshService, useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { arbitraryConversation } from '../support/translation/arbitrary-conversation.js';

type Body = Readonly<Record<string, unknown>>;

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.lorem({ maxCount: 30, mode: 'words' }));

const tool = fc.record({ name: fc.constantFrom('look', 'listen', 'speak'), description: text }).map((named) => ({
  type: 'function',
  ...named,
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
}));

const part = fc.oneof(
  text.map((words) => ({ type: 'input_text', text: words })),
  fc.constantFrom('low', 'high', 'auto').map((detail) => {
    return { type: 'input_image', detail, image_url: 'https://example.com/a.png' };
  }),
  text.map((filename) => ({
    type: 'input_file',
    filename: `${filename}.txt`,
    file_data: 'data:text/plain;base64,SGVsbG8=',
  })),
);

const said = fc.oneof(
  text.map((words) => ({ role: 'assistant', content: words })),
  fc.array(part, { minLength: 1, maxLength: 3 }).map((content) => ({ role: 'user', content })),
  text.map((words) => ({
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: words }],
    content: [{ type: 'reasoning_text', text: words }],
  })),
);

const input = fc.oneof(
  text.filter((words) => words !== ''),
  arbitraryConversation.map(({ items }) => items),
  fc
    .array(said, { maxLength: 4 })
    .map((items) => [
      ...items.map((item, index) => ('summary' in item ? { ...item, id: `rs_${index}` } : item)),
      { role: 'user', content: 'And?' },
    ]),
);

/** Requests of every shape that a count takes. */
const request: fc.Arbitrary<Body> = fc.record(
  {
    model: fc.constantFrom('gpt-4.1', 'gpt-5', 'o4-mini'),
    input,
    instructions: fc.option(text),
    tools: fc.uniqueArray(tool, { selector: ({ name }) => name, maxLength: 3 }),
    tool_choice: fc.constantFrom('auto', 'none'),
    parallel_tool_calls: fc.boolean(),
    reasoning: fc.record({ summary: fc.constantFrom('auto', null) }),
    text: fc.constantFrom(
      { format: { type: 'text' } },
      {
        format: {
          type: 'json_schema',
          name: 'answer',
          schema: { type: 'object', properties: { a: { type: 'string' } } },
        },
      },
    ),
    truncation: fc.constantFrom('auto', 'disabled'),
  },
  { requiredKeys: ['model', 'input'] },
);

/** The input that answers a response, whatever it ended with. */
function inputAfter(output: readonly Body[]): readonly object[] {
  const outputs = output
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'Seen.' }));
  return [...outputs, { role: 'user', content: 'Go on.' }];
}

describe.each(STATES)('counts of the simulator in $state', ({ state, open }) => {
  const service = useService(() => startServiceIn(open));

  it('the tokens that the simulator counts are the usage of the same request', async () => {
    const { api } = service;
    const compare = async (body: Body): Promise<Body> => {
      const counted = await api.post('responses/input_tokens', body);
      const { status, body: answer } = await api.post('responses', { ...body, max_output_tokens: 64 });
      expect(status).toBe(200);
      const { input_tokens } = answer['usage'] as { readonly input_tokens: number };
      expect(counted).toMatchObject({ status, body: { object: 'response.input_tokens', input_tokens } });
      return answer;
    };
    const property = fc.asyncProperty(request, async (body) => {
      const { id, model, output } = (await compare(body)) as { id: string; model: string; output: readonly Body[] };
      await compare({ ...body, model, input: inputAfter(output), previous_response_id: id });
    });
    await fc.assert(property, { numRuns: state === 'memory' ? 60 : 15 });
  });

  it('the counts of the simulator follow references and stay in the session that the request names', async () => {
    const session = service.api.with({ 'x-session-id': `in_${state}` });
    const { id } = await session.create({ model: 'gpt-4.1', input: 'Remember the sea.' });
    const items = (await session.get(`responses/${id}/input_items`)).body['data'] as readonly { readonly id: string }[];
    const body = {
      model: 'gpt-4.1',
      input: [
        { type: 'item_reference', id: items[0]?.id },
        { role: 'user', content: 'Hi' },
      ],
    };
    const counted = await session.post('responses/input_tokens', body);
    const { usage } = (await session.create(body)) as { readonly usage?: { readonly input_tokens: number } };
    expect(counted).toMatchObject({ status: 200, body: { input_tokens: usage?.input_tokens } });
    const elsewhere = await service.api
      .with({ 'x-session-id': `not_in_${state}` })
      .post('responses/input_tokens', { model: 'gpt-4.1', input: 'Hi', previous_response_id: id });
    expect(elsewhere).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
  });

  it('the official SDK gets the counts of the simulator', async () => {
    const client = service.client();
    const question = { model: 'gpt-4.1', input: 'Where is the sea?', instructions: 'Be brief.' };
    const counted = await client.responses.inputTokens.count(question);
    const { usage } = await client.responses.create(question);
    expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: usage?.input_tokens });
  });
});

describe('counts in conversations', () => {
  // Slow, so that a turn runs while tokens are counted.
  const service = useFreshService({ environment: { SIMULATOR_LATENCY: '40/10' } });
  const conversation = 'conv_1';

  beforeEach(async () => {
    const store = service.app.get(ConversationStore, { strict: false });
    await store.create(asTenant('anybody'), { id: conversation, createdAt: 1, metadata: {} }, []);
  });

  it('counts in conversations include what was said, and need no lock', async () => {
    const client = service.client();
    const question = { model: 'gpt-4.1', input: 'Where is the sea?', conversation };
    const alone = await client.responses.inputTokens.count(question);
    const stream = await client.responses.create({ ...question, stream: true });
    let response: OpenAI.Responses.Response | undefined;
    for await (const event of stream) {
      // The turn holds the lock.
      if (event.type === 'response.created') {
        await expect(client.responses.inputTokens.count(question)).resolves.toEqual(alone);
      }
      if (event.type === 'response.completed') ({ response } = event);
    }
    expect(response?.usage?.input_tokens).toBe(alone.input_tokens);
    const later = await client.responses.inputTokens.count(question);
    expect(later.input_tokens).toBeGreaterThan(2 * alone.input_tokens);
    const { usage } = await client.responses.create(question);
    expect(usage?.input_tokens).toBe(later.input_tokens);
  });

  it('a count is refused when the conversation is not found', async () => {
    const body = { model: 'gpt-4.1', input: 'Hi', conversation: 'conv_unknown' };
    await expect(service.api.post('responses/input_tokens', body)).resolves.toMatchObject({ status: 404 });
  });
});

describeService('requests for a count', {}, (service) => {
  const count = (body: Body): ReturnType<ApiClient['post']> => service.api.post('responses/input_tokens', body);

  it.each<[name: string, body: Body, status: number, error: Body]>([
    ['no model', { input: 'Hi' }, 400, { code: 'missing_required_parameter', param: 'model' }],
    ['an empty model', { model: '', input: 'Hi' }, 400, { code: 'model_not_found', param: 'model' }],
    ['an item without content', { model: 'm', input: [{ role: 'user' }] }, 400, { param: 'input[0].content' }],
    ['another type of instructions', { model: 'm', input: 'Hi', instructions: 1 }, 400, { param: 'instructions' }],
    ['a long personality', { model: 'm', personality: 'x'.repeat(65) }, 400, { param: 'personality' }],
    [
      'an unknown parent',
      { model: 'gpt-5', previous_response_id: 'resp_1' },
      400,
      { code: 'previous_response_not_found' },
    ],
    [
      'two histories',
      { model: 'm', previous_response_id: 'resp_1', conversation: 'conv_1' },
      400,
      { code: 'mutually_exclusive_parameters' },
    ],
    [
      'an unknown reference',
      { model: 'gpt-5', input: [{ type: 'item_reference', id: 'msg_1' }] },
      404,
      { param: 'input' },
    ],
    [
      'an output without a call',
      { model: 'gpt-5', input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      400,
      { param: 'input' },
    ],
    ['a member of Chat Completions', { model: 'm', messages: [] }, 400, { code: 'unsupported_parameter' }],
    ['a typo', { model: 'm', instruction: 'Hi' }, 400, { code: 'unknown_parameter', param: 'instruction' }],
  ])('a request for a count is refused with %s', async (_, body, status, error) => {
    await expect(count(body)).resolves.toMatchObject({ status, body: { error } });
  });

  it('requests for a count need no input', async () => {
    const bare = await count({ model: 'gpt-5', instructions: 'Be brief.' });
    expect(bare).toMatchObject({ status: 200, body: { input_tokens: expect.any(Number) } });
  });

  it('a request for a count may have members that do not count', async () => {
    const body = { model: 'gpt-5', input: 'Hi', personality: 'friendly' };
    const others = { store: false, stream: true, metadata: 'none', max_output_tokens: 1, context_management: 0 };
    expect((await count({ ...body, ...others })).body).toEqual((await count(body)).body);
  });

  it('requests for a count are posted', async () => {
    const answer = await fetch(`${service.baseURL}/responses/input_tokens`, { method: 'PUT' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describeService(
  'requests for a count, with strict names',
  { environment: { UNKNOWN_PARAMETERS: 'reject' } },
  (service) => {
    it('requests for a count have no members that do not count where names are strict', async () => {
      const answer = await service.api.post('responses/input_tokens', { model: 'gpt-5', input: 'Hi', store: false });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'unknown_parameter', param: 'store' } } });
      const known = { model: 'gpt-5', input: 'Hi', personality: 'friendly' };
      await expect(service.api.post('responses/input_tokens', known)).resolves.toMatchObject({ status: 200 });
    });
  },
);

describeService('counts of tenants', { environment: { API_KEYS: 'alice:sk-alice,bob:sk-bob' } }, (service) => {
  it('the counts of a tenant do not reach what belongs to others', async () => {
    const as = (key: string): ApiClient => service.api.with({ authorization: `Bearer ${key}` });
    const { id } = await as('sk-alice').create({ model: 'gpt-4.1' });
    const body = { model: 'gpt-4.1', input: 'Hi', previous_response_id: id };
    const [own, foreign, nobody] = await Promise.all([
      as('sk-alice').post('responses/input_tokens', body),
      as('sk-bob').post('responses/input_tokens', body),
      service.api.post('responses/input_tokens', body),
    ]);
    expect(own.status).toBe(200);
    expect(foreign).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
    expect(nobody.status).toBe(401);
  });
});
