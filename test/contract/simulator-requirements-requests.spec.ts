import { beforeAll, describe, expect, it } from '@jest/globals';
import { useService } from '../support/describe-service.js';
import { type SimulatorRequests, simulatorRequests, splitOutput, tokensOf } from '../support/simulator-requests.js';
import { whenEnded } from '../support/background.js';
import { postJson } from '../support/sse.js';

type Input = NonNullable<NonNullable<Parameters<SimulatorRequests['create']>[0]>['input']>;

/** The smallest PNG there is. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const LOOKUP = {
  type: 'function',
  name: 'look_up',
  description: 'Looks up a word.',
  parameters: {
    type: 'object',
    properties: { word: { type: 'string' } },
    required: ['word'],
    additionalProperties: false,
  },
  strict: true,
} as const;

const service = useService({});
let simulator: SimulatorRequests;

beforeAll(() => {
  simulator = simulatorRequests(service);
});

describe('R1: core endpoint', () => {
  it.each(['/openai/v1', '/v1'])('R1.1: the simulator answers POST %s/responses', async (prefix) => {
    const body = { model: 'gpt-5', input: 'Hello, world!' };
    const { status, body: response } = await postJson(`${service.origin}${prefix}/responses`, body);
    expect(status).toBe(200);
    expect(response).toMatchObject({ object: 'response', status: 'completed' });
  });

  it('R1.2: the simulator takes a string and an array of messages for the same', async () => {
    const text = 'Hello, world!';
    const inputs: readonly Input[] = [text, [{ role: 'user', content: text }]];
    const responses = await Promise.all(inputs.map((input) => simulator.create({ input })));
    expect(responses[1]?.output_text).toBe(responses[0]?.output_text);
    expect(responses[1]?.usage).toEqual(responses[0]?.usage);
    for (const { id } of responses) {
      const items = await simulator.client.responses.inputItems.list(id);
      expect(items.data).toMatchObject([{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]);
    }
  });

  it('R1.3: the simulator answers with the members of a response (ids are resp_ and 32 hex digits)', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { body } = await simulator.post({ model: 'gpt-4.1-mini', input: 'Hello!' });
    const response = body as { readonly output: readonly unknown[]; readonly [member: string]: unknown };
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: 'response',
      model: 'gpt-4.1-mini',
      status: 'completed',
      output: [{ type: 'message', content: [{ text: response['output_text'] }] }],
      output_text: expect.stringMatching(/\w+ \w+/),
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number), total_tokens: expect.any(Number) },
    });
    expect(response['created_at']).toBeGreaterThanOrEqual(before);
    expect(response['created_at']).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
    expect(Number.isInteger(response['created_at'])).toBe(true);
  });

  it('R1.3: the simulator says in_progress while it generates, and completed afterwards', async () => {
    const snapshots = (await simulator.stream({})).flatMap(({ type, response }) =>
      response === undefined ? [] : [[type, (response as { readonly status: unknown }).status]],
    );
    expect(snapshots).toEqual([
      ['response.created', 'in_progress'],
      ['response.in_progress', 'in_progress'],
      ['response.completed', 'completed'],
    ]);
  });
});

describe('R2: input item types', () => {
  it.each(['user', 'system', 'developer', 'assistant'] as const)(
    'R2.1: the simulator reads a message of the %s',
    async (role) => {
      const plain = await simulator.create({ input: [{ role: 'user', content: 'Hello!' }] });
      const content = 'Seven wild geese crossed the northern harbor before sunrise.';
      const input: Input = [
        { type: 'message', role, content },
        { role: 'user', content: 'Hello!' },
      ];
      const { status, usage } = await simulator.create({ input });
      expect(status).toBe('completed');
      expect(usage?.input_tokens).toBeGreaterThanOrEqual((plain.usage?.input_tokens ?? NaN) + tokensOf(content));
    },
  );

  it('R2.2: the simulator reads input_text and input_image parts', async () => {
    const ask = async (...content: readonly object[]): Promise<number> => {
      const { status, body } = await simulator.post({ model: 'gpt-4.1', input: [{ role: 'user', content }] });
      expect(status).toBe(200);
      return (body as { readonly usage: { readonly input_tokens: number } }).usage.input_tokens;
    };
    const text = { type: 'input_text', text: 'What is in this picture?' };
    const withoutImage = await ask(text);
    // Nobody answers there: an image is counted, never fetched.
    for (const image_url of [PIXEL, 'http://127.0.0.1:9/picture.png']) {
      expect(await ask(text, { type: 'input_image', image_url })).toBeGreaterThanOrEqual(withoutImage + 85);
    }
    expect(withoutImage).toBeGreaterThanOrEqual(tokensOf(text.text));
  });
});

describe('R4: request parameters', () => {
  it('R4.1: the simulator echoes the core parameters', async () => {
    const settings = { instructions: 'Be brief.', temperature: 0.3, top_p: 0.7, max_output_tokens: 2000 };
    const response = await simulator.create({ ...settings, model: 'gpt-4.1-nano' });
    expect(response).toMatchObject({ ...settings, model: 'gpt-4.1-nano', status: 'completed' });
  });

  it('R4.1: the simulator lets the model read the instructions', async () => {
    const instructions = 'Answer in the manner of a careful librarian who loves old maps.';
    const without = await simulator.create();
    const instructed = await simulator.create({ instructions });
    expect(instructed.usage?.input_tokens).toBeGreaterThanOrEqual(
      (without.usage?.input_tokens ?? NaN) + tokensOf(instructions),
    );
  });

  it.each([
    ['no model', { input: 'Hello!' }, 'missing_required_parameter'],
    ['no input', { model: 'gpt-4.1' }, 'missing_required_parameter'],
    ['a high temperature', { model: 'gpt-4.1', input: 'Hello!', temperature: 2.1 }, 'decimal_above_max_value'],
    ['a low temperature', { model: 'gpt-4.1', input: 'Hello!', temperature: -0.1 }, 'decimal_below_min_value'],
    ['a high top_p', { model: 'gpt-4.1', input: 'Hello!', top_p: 1.1 }, 'decimal_above_max_value'],
  ])('R4.1: the simulator refuses a request with %s', async (_, body, code) => {
    expect(await simulator.post(body)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', code } },
    });
  });

  it.each(['gpt-4.1', 'o3'])('R4.1: the simulator ends at max_output_tokens: %s', async (model) => {
    const response = await simulator.create({ model, max_output_tokens: 16 });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(response.usage?.output_tokens).toBe(16);
  });

  it('R4.1: the simulator streams when asked to', async () => {
    const stream = await simulator.client.responses.create({ model: 'gpt-4.1', input: 'Hello!', stream: true });
    let text = '';
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
    expect(text).toBe((await simulator.create()).output_text);
  });

  it('R4.2: the simulator keeps metadata', async () => {
    const metadata = { order: '17', customer: 'Ada' };
    const { id } = await simulator.create({ metadata });
    expect(await simulator.client.responses.retrieve(id)).toMatchObject({ metadata });
  });

  it('R4.2: the simulator continues from previous_response_id', async () => {
    const first = await simulator.create({ input: 'Tell me of the harbor.' });
    const alone = await simulator.create({ input: 'And then?' });
    const second = await simulator.create({ input: 'And then?', previous_response_id: first.id });
    expect(second).toMatchObject({ status: 'completed', previous_response_id: first.id });
    const history = tokensOf('Tell me of the harbor.') + tokensOf(first.output_text);
    expect(second.usage?.input_tokens).toBeGreaterThanOrEqual((alone.usage?.input_tokens ?? NaN) + history);
  });

  it('R4.2: the simulator follows and echoes tool_choice', async () => {
    const none = await simulator.create({ tools: [LOOKUP], tool_choice: 'none' });
    expect(none).toMatchObject({ tool_choice: 'none', output: [{ type: 'message' }] });
    const required = await simulator.create({ tools: [LOOKUP], tool_choice: 'required' });
    expect(required).toMatchObject({ tool_choice: 'required', output: [{ type: 'function_call', name: 'look_up' }] });
  });

  it('R4.2: the simulator follows and echoes reasoning', async () => {
    const low = await simulator.create({ model: 'o3', reasoning: { effort: 'low', summary: 'concise' } });
    expect(low.reasoning).toMatchObject({ effort: 'low', summary: 'concise' });
    const high = await simulator.create({ model: 'o3', reasoning: { effort: 'high' } });
    expect(splitOutput(high).reasoning).toBeGreaterThan(splitOutput(low).reasoning);
  });

  it('R4.2: the simulator takes background: false, and queues with true', async () => {
    expect(await simulator.create({ background: false })).toMatchObject({ status: 'completed', background: false });
    const queued = await simulator.create({ background: true });
    expect(queued).toMatchObject({ status: 'queued', background: true, output: [] });
    expect(await whenEnded(service, queued.id)).toMatchObject({ status: 'completed', background: true });
  });

  it('R4.2: the simulator includes reasoning.encrypted_content, which can be sent again', async () => {
    const user = { role: 'user', content: 'Hello!' } as const;
    const include = ['reasoning.encrypted_content' as const];
    const first = await simulator.create({ model: 'o3', store: false, input: [user], include });
    expect(first.output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.stringMatching(/^\S{20,}$/) });
    const input = [user, ...(first.output as Exclude<Input, string>), user];
    const second = await simulator.create({ model: 'o3', store: false, input, include });
    expect(second).toMatchObject({ status: 'completed', output: [{ type: 'reasoning' }, { type: 'message' }] });
  });

  it('R4.2: the simulator has encrypted_content also where it is not asked for (as the API has today)', async () => {
    const { output } = await simulator.create({ model: 'o3' });
    expect(output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.stringMatching(/^\S{20,}$/) });
  });
});
