import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import type { WireResponse } from '../support/transport.js';
import { postJson } from '../support/sse.js';

const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false };

describe('a warm-up', () => {
  const observer = new RecordingObserver();
  const service = useService({ providers: [ScriptedProvider], imports: [observer.asModule()] });
  let client: SocketClient;
  let url: string;

  beforeAll(() => {
    url = `${service.baseURL}/responses`;
  });

  beforeEach(async () => {
    service.provider.turns.length = 0;
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  /** One turn on the default lane that is not stored; gives the response's id. */
  const say = async (input: unknown, previous_response_id: string | null): Promise<string> =>
    (await client.turn({ input, previous_response_id, store: false })).response.id;

  it('a warm-up is created and completed without output, and the model is not asked', async () => {
    const settings = { instructions: 'Be brief.', tools: [tool], store: false, metadata: { job: 'warm' } };
    const { events = [], response } = await client.warmUp({ input: 'Hello there.', ...settings });
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
    expect(events[0]).toMatchObject({ sequence_number: 0, response: { status: 'in_progress', usage: null } });
    expect(response).toMatchObject({ status: 'completed', output: [], error: null, ...settings, tools: [tool] });
    const { input_tokens: input, output_tokens: output, total_tokens: total } = usageOf(response);
    expect(input).toBeGreaterThan(0);
    expect({ output, total }).toEqual({ output: 0, total: input });
    expect(service.provider.turns).toHaveLength(0);
  });

  it('a warm-up counts instructions, tools, input and everything before it', async () => {
    const count = async (body: object): Promise<number> =>
      usageOf((await client.warmUp({ store: false, ...body })).response)['input_tokens'] ?? 0;
    const bare = await count({ input: 'Hello there.' });
    const withMore = await count({ input: 'Hello there.', instructions: 'Be brief.', tools: [tool] });
    expect(withMore).toBeGreaterThan(bare);
    const { response } = await client.turn({ input: 'Hello there.', store: false });
    expect(usageOf(response)['input_tokens']).toBe(bare);
    const chained = await count({ input: 'Hello there.', previous_response_id: response.id });
    expect(chained).toBeGreaterThan(bare);
  });

  it('a warm-up is a turn for observers like any other', async () => {
    observer.records.length = 0;
    const { response } = await client.warmUp({ input: 'Hi' });
    const [record] = await observer.whenSettled(1);
    expect(record).toMatchObject({ responseId: response.id, status: 'completed', provider: 'scripted' });
    expect(record?.usage).toEqual(response['usage']);
  });

  it.each<[what: string, input: object, context: readonly string[]]>([
    ['a text', { input: 'Base.' }, ['user: Base.']],
    ['items', { input: [{ role: 'developer', content: 'Base.' }] }, ['developer: Base.']],
    ['no items', { input: [] }, []],
    ['no input', {}, []],
    ['null', { input: null }, []],
  ])('a warm-up takes %s, and is continued at once', async (_, body, context) => {
    const { response } = await client.warmUp({ store: false, ...body });
    await say('Hi', response.id);
    expect(seen()).toEqual([...context, 'user: Hi']);
    expect(service.provider.turns.at(-1)?.parent?.responseId).toBe(response.id);
  });

  it('a warm-up stands anywhere in a chain', async () => {
    const first = await say('One?', null);
    const warm = await client.warmUp({ input: 'Two.', store: false, previous_response_id: first });
    expect(warm.response).toMatchObject({ previous_response_id: first, output: [] });
    const again = await client.warmUp({ input: 'Three.', store: false, previous_response_id: warm.response.id });
    await say('Four?', await say('Five?', again.response.id));
    expect(seen()).toEqual([
      'user: One?',
      'assistant: ok',
      'user: Two.',
      'user: Three.',
      'user: Five?',
      'assistant: ok',
      'user: Four?',
    ]);
    expect(service.provider.turns).toHaveLength(3);
  });

  it('a warm-up can be continued with empty input', async () => {
    const { response } = await client.warmUp({ input: 'Base.', store: false });
    await say([], response.id);
    expect(seen()).toEqual(['user: Base.']);
  });

  it('a warm-up can be forked, but not from another connection', async () => {
    const { response } = await client.warmUp({ stream_id: 'warm', input: 'Base.', store: false });
    await using other = await SocketClient.open(service);
    const again = { previous_response_id: response.id, input: 'Hi' };
    expect(await other.refusal(again)).toMatchObject(parentNotFound(response.id));
    await client.turn({ stream_id: 'fork', ...again });
    expect(seen()).toEqual(['user: Base.', 'user: Hi']);
  });

  it('a warm-up is stored if it is asked to be', async () => {
    const { response } = await client.warmUp({ input: 'Base.' });
    const stored = await fetch(`${url}/${response.id}`);
    expect(await stored.json()).toMatchObject({ id: response.id, status: 'completed', output: [] });
    const items = await fetch(`${url}/${response.id}/input_items`);
    expect(await items.json()).toMatchObject({ data: [{ role: 'user', content: [{ text: 'Base.' }] }] });
    const body = { model: 'm', input: 'Hi', previous_response_id: response.id };
    expect(await postJson(url, body)).toMatchObject({ status: 200 });
    expect(seen()).toEqual(['user: Base.', 'user: Hi']);
    await using other = await SocketClient.open(service);
    await other.turn(body);
    expect(seen()).toEqual(['user: Base.', 'user: Hi']);
  });

  it('a warm-up may be nested in a response member', async () => {
    client.send({ type: 'response.create', response: { model: 'm', generate: false, store: false, input: 'Base.' } });
    const { response } = await client.finish(undefined, { warmUp: true });
    await say('Hi', response.id);
    expect(seen()).toEqual(['user: Base.', 'user: Hi']);
  });

  it('prompt_cache_options.prewarm asks for a warm-up too', async () => {
    client.create({ input: 'Base.', store: false, prompt_cache_options: { prewarm: true } });
    const { response, events = [] } = await client.finish(undefined, { warmUp: true });
    expect(events).toHaveLength(2);
    expect(response).toMatchObject({ output: [], usage: { output_tokens: 0 } });
    expect(service.provider.turns).toHaveLength(0);
    await say('Hi', response.id);
    expect(seen()).toEqual(['user: Base.', 'user: Hi']);
  });

  it.each([true, null])('a request is no warm-up with generate: %s', async (generate) => {
    await client.turn({ input: 'Hi', generate });
    expect(service.provider.turns).toHaveLength(1);
  });

  it.each<[what: string, body: object, error: object]>([
    ['bad tools', { tools: [{ type: 'function' }] }, { param: 'tools[0].name' }],
    ['an unknown parent', { previous_response_id: 'resp_gone' }, { code: 'previous_response_not_found' }],
    ['an output without its call', { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, {}],
    ['bad input', { input: 7 }, { code: 'invalid_type', param: 'input' }],
  ])('a warm-up is refused with an error frame: %s', async (_, body, error) => {
    const refusal = await client.refusal({ stream_id: 'warm', generate: false, ...body });
    expect(refusal).toMatchObject({ status: 400, stream_id: 'warm', error });
    await expect(client.warmUp({ stream_id: 'warm' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('a warm-up is refused without a model', async () => {
    client.send({ type: 'response.create', generate: false });
    expect(await client.next()).toMatchObject({ error: { code: 'missing_required_parameter', param: 'model' } });
  });

  it('a warm-up is refused for any other kind of generate', async () => {
    expect(await client.refusal({ input: 'Hi', generate: 'no' })).toMatchObject({
      status: 400,
      error: { code: 'invalid_type', param: 'generate', message: expect.stringContaining('a boolean') as unknown },
    });
  });

  it('a warm-up is unknown over HTTP, and ignored', async () => {
    const { status, body } = await postJson(url, { model: 'm', input: 'Hi', generate: false });
    expect({ status, body }).toMatchObject({ status: 200, body: { output: [{ type: 'message' }] } });
    expect(service.provider.turns).toHaveLength(1);
  });
});

function usageOf(response: WireResponse): Readonly<Record<string, number>> {
  return response['usage'] as Record<string, number>;
}
