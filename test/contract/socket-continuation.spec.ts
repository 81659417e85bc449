import { afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';

import { ResponseStore, StoreUnavailableError } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { postJson } from '../support/sse.js';

describeService('continuing a response on a socket', { providers: [ScriptedProvider] }, (service) => {
  let store: ResponseStore;
  let client: SocketClient;
  let url: string;

  beforeAll(() => {
    store = service.app.get(ResponseStore);
    url = `${service.baseURL}/responses`;
  });

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await client[Symbol.asyncDispose]();
  });

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  /** One turn on the client's default lane; gives the response's id. */
  const say = async (
    input: unknown,
    previous_response_id: string | null = null,
    more: object = {},
  ): Promise<string> => {
    const { response } = await client.turn({ input, previous_response_id, store: false, ...more });
    return response.id;
  };

  it('a continuation on a socket shows the model the whole chain although nothing is stored', async () => {
    service.provider.reply({ type: 'text', delta: 'Two.' }).reply({ type: 'text', delta: 'Four.' });
    const second = await say('Three?', await say('One?'));
    await say('Five?', second);
    expect(seen()).toEqual(['user: One?', 'assistant: Two.', 'user: Three?', 'assistant: Four.', 'user: Five?']);
    expect(transcript(service.provider.turns.at(-1)?.input ?? [])).toEqual(['user: Five?']);
    expect(service.provider.turns.at(-1)?.parent).toEqual({ responseId: second, origin: { provider: 'scripted' } });
  });

  it('a continuation gives a model its own state back, as its upstream calls it', async () => {
    service.provider.reply({ type: 'metadata', upstreamId: 'up_1' }, { type: 'text', delta: 'Two.' });
    const id = await say('One?');
    await say('Three?', id);
    expect(service.provider.turns.at(-1)?.parent?.origin).toEqual({ provider: 'scripted', upstreamId: 'up_1' });
  });

  it('a continuation on a socket does not inherit instructions, tools or other settings', async () => {
    const tools = [{ type: 'function', name: 'look', parameters: null, strict: null }];
    const id = await say('Hi', null, { instructions: 'Speak like a pirate.', temperature: 0.3, tools });
    await say('Again', id);
    expect(service.provider.turns.at(-1)?.settings).toMatchObject({ instructions: null, temperature: 1, tools: [] });
    expect(seen()).toEqual(['user: Hi', 'assistant: ok', 'user: Again']);
  });

  it('a socket keeps what is not stored to its own connection', async () => {
    const id = await say('Hi');
    await using other = await SocketClient.open(service);
    const asked = service.provider.turns.length;
    expect(await other.refusal({ input: 'Again', previous_response_id: id })).toMatchObject(parentNotFound(id));
    const http = await postJson(url, { model: 'scripted', input: 'Again', previous_response_id: id });
    expect(http).toMatchObject({ status: 400, body: { error: parentNotFound(id).error } });
    expect((await fetch(`${url}/${id}`)).status).toBe(404);
    expect(service.provider.turns).toHaveLength(asked);
    await say('Again', id);
    expect(seen()).toEqual(['user: Hi', 'assistant: ok', 'user: Again']);
  });

  it('a socket forgets what is not stored with its connection', async () => {
    const id = await say('Hi');
    await client.close();
    client = await SocketClient.open(service);
    expect(await client.refusal({ input: 'Again', previous_response_id: id })).toMatchObject(parentNotFound(id));
  });

  it('a socket continues what is stored on another socket and over HTTP, however old it is', async () => {
    const first = await say('One?', null, { store: true });
    const second = await say('Two?', first, { store: true });
    await say('Three?', second, { store: true });
    await using other = await SocketClient.open(service);
    await other.turn({ input: 'Other?', previous_response_id: first });
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Other?']);
    const http = await postJson(url, { model: 'scripted', input: 'Http?', previous_response_id: second });
    expect(http).toMatchObject({ status: 200, body: { previous_response_id: second } });
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Two?', 'assistant: ok', 'user: Http?']);
    await say('Here?', first);
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Here?']);
  });

  it('a socket continues what HTTP stored', async () => {
    const { body } = await postJson(url, { model: 'scripted', input: 'One?' });
    await say('Two?', (body as { readonly id: string }).id);
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Two?']);
  });

  it('a socket reads nothing from the store for what the connection remembers', async () => {
    const chain = jest.spyOn(store, 'chain');
    let id = await say('One?', null, { store: true });
    id = await say('Two?', id, { store: true });
    id = await say('Three?', id);
    const older = await say('Four?', id);
    expect(chain).not.toHaveBeenCalled();
    await say('Five?', older);
    expect(await client.refusal({ input: 'Six?', previous_response_id: older })).toMatchObject(parentNotFound(older));
    expect(chain).toHaveBeenCalledTimes(1);
  });

  it('the service stores a whole conversation with the first response of it that is stored', async () => {
    const unstored = await say('One?');
    const stored = await say('Two?', unstored, { store: true });
    await using other = await SocketClient.open(service);
    await other.turn({ input: 'Three?', previous_response_id: stored });
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Two?', 'assistant: ok', 'user: Three?']);
  });

  it('the service stores a whole conversation where a response in the middle of it is not stored', async () => {
    const first = await say('One?', null, { store: true });
    const third = await say('Three?', await say('Two?', first), { store: true });
    const http = await postJson(url, { model: 'scripted', input: 'Four?', previous_response_id: third });
    expect(http.status).toBe(200);
    const answered = ['One?', 'Two?', 'Three?'].flatMap((text) => [`user: ${text}`, 'assistant: ok']);
    expect(seen()).toEqual([...answered, 'user: Four?']);
  });

  it('a socket continues an incomplete response', async () => {
    service.provider.reply({ type: 'text', delta: 'I was' }, { type: 'finish', reason: 'length' });
    const { response } = await client.turn({ input: 'Hi', store: false });
    expect(response.status).toBe('incomplete');
    await say('Go on', response.id);
    expect(seen()).toEqual(['user: Hi', 'assistant: I was', 'user: Go on']);
  });

  it.each([true, false])('a socket does not continue a failed response (store: %s)', async (stored) => {
    service.provider.play(async function* () {
      yield { type: 'text', delta: 'I was' };
      throw new Error('broken');
    });
    const { response } = await client.turn({ input: 'Hi', store: stored });
    expect(response.status).toBe('failed');
    const refusal = await client.refusal({ input: 'Go on', previous_response_id: response.id });
    const why = stored ? 'has failed and cannot be continued' : 'not found';
    expect(refusal).toMatchObject({
      status: 400,
      error: {
        code: 'previous_response_not_found',
        param: 'previous_response_id',
        message: expect.stringContaining(`'${response.id}' ${why}.`) as unknown,
      },
    });
  });

  it('a socket does not continue a response that could not be saved', async () => {
    jest.spyOn(store, 'save').mockRejectedValueOnce(new StoreUnavailableError('secret of the storage'));
    const { response } = await client.turn({ input: 'Hi' });
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'The response could not be saved. Please retry your request.' },
      output: [{ content: [{ text: 'ok' }] }],
    });
    const refusal = await client.refusal({ input: 'Go on', previous_response_id: response.id });
    expect(refusal).toMatchObject(parentNotFound(response.id));
  });

  it('a continuation on a socket does not depend on the store for what is not stored', async () => {
    jest.spyOn(store, 'save').mockRejectedValue(new StoreUnavailableError('down'));
    jest.spyOn(store, 'chain').mockRejectedValue(new StoreUnavailableError('down'));
    await say('Two?', await say('One?'));
    expect(seen()).toHaveLength(3);
    expect(await client.refusal({ input: 'Hi', previous_response_id: 'resp_elsewhere' })).toMatchObject({
      status: 503,
      error: { code: 'service_unavailable', headers: { 'retry-after': '1' } },
    });
  });

  it('a socket does not continue what was deleted, on any connection, but what came after it', async () => {
    const parent = await say('One?', null, { store: true });
    const child = (await client.turn({ stream_id: 'a', input: 'Two?', store: false, previous_response_id: parent }))
      .response.id;
    await using other = await SocketClient.open(service);
    // There it is in memory too, as the latest of a lane that forked nothing from it yet.
    const there = (await other.turn({ input: 'There?', previous_response_id: parent })).response.id;
    for (const id of [parent, there]) expect((await fetch(`${url}/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect(await client.refusal({ input: 'Hi', previous_response_id: parent })).toMatchObject(parentNotFound(parent));
    expect(await other.refusal({ input: 'Hi', previous_response_id: there })).toMatchObject(parentNotFound(there));
    await client.turn({ stream_id: 'a', input: 'Three?', previous_response_id: child });
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Two?', 'assistant: ok', 'user: Three?']);
  });

  it('a socket takes empty input behind a parent', async () => {
    await say([], await say('One?'));
    expect(seen()).toEqual(['user: One?', 'assistant: ok']);
  });
});
