import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import type { WireResponse } from '../support/transport.js';

const user = (content: string): object => ({ role: 'user', content });

describeService('response.append', { providers: [ScriptedProvider] }, (service) => {
  let client: SocketClient;

  beforeEach(async () => {
    service.provider.turns.length = 0;
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  const append = async (input: unknown, stream_id?: string): Promise<WireResponse> => {
    client.send({ type: 'response.append', input, ...(stream_id === undefined ? {} : { stream_id }) });
    return (await client.finish(stream_id)).response;
  };

  it('response.append adds to the input of the last request and keeps its settings', async () => {
    const settings = { model: 'first', instructions: 'Be brief.', temperature: 0.5, store: false };
    const { response } = await client.turn({ ...settings, input: [user('One?')] });
    // The client repeats what the model said.
    const appended = await append([...(response['output'] as object[]), user('Two?')]);
    expect(appended).toMatchObject({ status: 'completed', previous_response_id: null, ...settings });
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Two?']);
    expect(appended.id).not.toBe(response.id);
  });

  it('response.append adds to what was added before', async () => {
    await client.turn({ input: [user('One?')] });
    await append([user('Two?')]);
    await append([user('Three?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?', 'user: Three?']);
  });

  it('response.append adds to a text', async () => {
    await client.turn({ input: 'One?' });
    await append([user('Two?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
  });

  it('response.append adds to a request that had no input', async () => {
    await client.warmUp({});
    await append([user('One?')]);
    expect(seen()).toEqual(['user: One?']);
  });

  it.each([{ generate: false }, { prompt_cache_options: { prewarm: true } }])(
    'response.append asks the model after a warm-up with %j',
    async (how) => {
      client.create({ input: [user('Base.')], store: false, ...how });
      await client.finish(undefined, { warmUp: true });
      expect(await append([user('One?')])).toMatchObject({ output: [{ content: [{ text: 'ok' }] }] });
      expect(seen()).toEqual(['user: Base.', 'user: One?']);
    },
  );

  it('response.append may be nested', async () => {
    await client.turn({ input: 'One?' });
    client.send({ type: 'response.append', response: { input: [user('Two?')] } });
    await client.finish();
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
    await append([user('Three?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?', 'user: Three?']);
  });

  it('response.append goes on a lane of its own from the last request of that lane', async () => {
    await client.turn({ stream_id: 'a', input: 'One?' });
    await client.turn({ stream_id: 'b', input: 'Other?' });
    await append([user('Two?')], 'a');
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
    client.send({ type: 'response.append', input: [user('Two?')] });
    expect(await client.next()).toMatchObject({ type: 'error', status: 400, error: { param: 'type' } });
  });

  it('response.append waits in its lane for the request that it adds to', async () => {
    client.create({ stream_id: 'a', input: 'One?' });
    client.send({ type: 'response.append', stream_id: 'a', input: [user('Two?')] });
    await client.finish('a');
    await client.finish('a');
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
  });

  it('response.append adds to a request whose turn failed', async () => {
    service.provider.play(() => {
      throw new Error('broken');
    });
    expect(await client.refusal({ input: 'One?' })).toMatchObject({ status: 500 });
    await append([user('Two?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
  });

  it('response.append does not add to a request that was not valid, but to the one before', async () => {
    await client.turn({ input: 'One?' });
    await client.refusal({ input: 'Bad', temperature: 9 });
    await append([user('Two?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
  });

  it('response.append can be continued like any other turn', async () => {
    await client.turn({ input: 'One?', store: false });
    const { id } = await append([user('Two?')]);
    await client.turn({ input: 'Three?', store: false, previous_response_id: id });
    expect(seen()).toEqual(['user: One?', 'user: Two?', 'assistant: ok', 'user: Three?']);
  });

  it('response.append stays behind the parent of the request that it adds to', async () => {
    const { response } = await client.turn({ input: 'One?' });
    await client.turn({ input: 'Two?', previous_response_id: response.id });
    expect(await append([user('Three?')])).toMatchObject({ previous_response_id: response.id });
    expect(seen()).toEqual(['user: One?', 'assistant: ok', 'user: Two?', 'user: Three?']);
  });

  const wrongType = (kind: string): string =>
    `Invalid type for 'input': expected an array of input items, but got ${kind} instead.`;

  it.each<[what: string, input: unknown, code: string, message: string]>([
    ['a text', 'Two?', 'invalid_type', wrongType('a string')],
    ['an object', user('Two?'), 'invalid_type', wrongType('an object')],
    ['null', null, 'invalid_type', wrongType('an object')],
    ['nothing', undefined, 'missing_required_parameter', "Missing required parameter: 'input'."],
  ])('response.append is refused with %s as input', async (_, input, code, message) => {
    await client.turn({ input: 'One?' });
    client.send({ type: 'response.append', input });
    expect(await client.next()).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', code, param: 'input', message },
    });
    await append([user('Two?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
  });

  it('response.append is refused with items that are not valid, and these are not kept', async () => {
    await client.turn({ input: [user('One?')] });
    client.send({ type: 'response.append', input: [{ role: 'king', content: 'Two?' }] });
    expect(await client.next()).toMatchObject({ status: 400, error: { code: 'invalid_value', param: 'input[1]' } });
    await append([user('Two?')]);
    expect(seen()).toEqual(['user: One?', 'user: Two?']);
  });

  it.each<[param: string, value: unknown]>([
    ['model', 'other'],
    ['temperature', 1],
    ['instructions', 'Be long.'],
    ['previous_response_id', 'resp_x'],
    ['generate', false],
  ])('response.append is refused with another %s, and says where to change it', async (param, value) => {
    await client.turn({ model: 'first', temperature: 0.5, input: 'One?' });
    client.send({ type: 'response.append', input: [user('Two?')], [param]: value });
    const message = expect.stringContaining("Send 'response.create' to change them.");
    expect(await client.next()).toMatchObject({
      status: 400,
      error: { code: 'unsupported_parameter', param, message },
    });
    expect(await append([user('Two?')])).toMatchObject({ model: 'first', temperature: 0.5 });
  });

  it('response.append may repeat the settings of its request', async () => {
    await client.turn({ model: 'first', temperature: 0.5, input: 'One?' });
    client.send({ type: 'response.append', input: [user('Two?')], model: 'first', temperature: 0.5, store: null });
    expect((await client.finish()).response).toMatchObject({ status: 'completed', model: 'first' });
  });

  it('response.append is refused with a misspelt member', async () => {
    await client.turn({ input: 'One?' });
    client.send({ type: 'response.append', input: [user('Two?')], client_metdata: {} });
    expect(await client.next()).toMatchObject({ error: { code: 'unknown_parameter', param: 'client_metdata' } });
  });

  it('response.append is refused where there was no request', async () => {
    client.send({ type: 'response.append', input: [user('One?')] });
    expect(await client.next()).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', param: 'type', message: expect.stringContaining('response.create') },
    });
    expect(service.provider.turns).toHaveLength(0);
  });

  it('response.append does not know what another connection asked', async () => {
    await client.turn({ input: 'One?' });
    await using other = await SocketClient.open(service);
    other.send({ type: 'response.append', input: [user('Two?')] });
    expect(await other.next()).toMatchObject({ type: 'error', status: 400, error: { param: 'type' } });
  });
});
