import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';

import { ModelError, ResponseStore, StoreUnavailableError } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

describeService('what a failing continuation does to its parent', { providers: [ScriptedProvider] }, (service) => {
  let client: SocketClient;

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    await client[Symbol.asyncDispose]();
  });

  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  const parentOn = async (stream_id: string, store = false): Promise<string> =>
    (await client.turn({ stream_id, input: 'Parent?', store })).response.id;

  const call = { type: 'function_call_output', call_id: 'call_none', output: '' };

  /** Every way a continuation can go wrong: how the model behaves, the body, and how it ends. */
  const failures: readonly (readonly [what: string, model: () => unknown, body: object, end: object])[] = [
    ['a wrong type', () => null, { input: 7 }, { type: 'error', status: 400, error: { param: 'input' } }],
    ['no model', () => null, { model: '', input: 'Hi' }, { type: 'error', error: { code: 'model_not_found' } }],
    [
      'an output without its call',
      () => null,
      { input: [call] },
      { type: 'error', status: 400, error: { code: null } },
    ],
    [
      'a model that refuses',
      () =>
        service.provider.play(() => {
          throw new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429 });
        }),
      { input: 'Hi' },
      { type: 'error', status: 429, error: { code: 'rate_limit_exceeded' } },
    ],
    [
      'a model that breaks before its first word',
      () =>
        service.provider.play(async function* () {
          throw new Error('broken');
        }),
      { input: 'Hi' },
      { type: 'error', status: 500, error: { code: 'processing_error' } },
    ],
    [
      'a model that breaks in the middle',
      () =>
        service.provider.play(async function* () {
          yield { type: 'text', delta: 'I was' };
          throw new ModelError('server_error', 'It broke.');
        }),
      { input: 'Hi' },
      { type: 'response.failed', response: { status: 'failed' } },
    ],
    [
      'a store that does not take the answer',
      () => jest.spyOn(service.app.get(ResponseStore), 'save').mockRejectedValueOnce(new StoreUnavailableError('down')),
      { input: 'Hi', store: true },
      { type: 'response.failed', response: { error: { code: 'server_error' } } },
    ],
  ];

  it.each(failures)('a failing continuation forgets its parent on its own lane: %s', async (_, model, body, end) => {
    const parent = await parentOn('a');
    model();
    client.create({ stream_id: 'a', store: false, previous_response_id: parent, ...body });
    expect(await client.nextEnd('a')).toMatchObject(end);
    for (const stream_id of ['a', 'b']) {
      const refusal = await client.refusal({ stream_id, input: 'Again', previous_response_id: parent });
      expect(refusal).toMatchObject({ ...parentNotFound(parent), stream_id });
    }
  });

  it.each(failures)('a failing fork keeps its parent on another lane: %s', async (_, model, body, end) => {
    const parent = await parentOn('a');
    model();
    client.create({ stream_id: 'b', store: false, previous_response_id: parent, ...body });
    expect(await client.nextEnd('b')).toMatchObject(end);
    for (const stream_id of ['b', 'c', 'a']) {
      await client.turn({ stream_id, input: 'Again', store: false, previous_response_id: parent });
      expect(seen()).toEqual(['user: Parent?', 'assistant: ok', 'user: Again']);
    }
  });

  it.each(failures)('a failing continuation leaves a stored parent to the store: %s', async (_, model, body, end) => {
    const parent = await parentOn('a', true);
    model();
    client.create({ stream_id: 'a', store: false, previous_response_id: parent, ...body });
    expect(await client.nextEnd('a')).toMatchObject(end);
    await client.turn({ stream_id: 'a', input: 'Again', previous_response_id: parent });
    expect(seen()).toEqual(['user: Parent?', 'assistant: ok', 'user: Again']);
  });

  it('a failing continuation forgets its parent on the default lane and in a nested request too', async () => {
    const { response } = await client.turn({ input: 'Parent?', store: false });
    client.send({ type: 'response.create', response: { model: 'm', input: 7, previous_response_id: response.id } });
    expect(await client.nextEnd()).toMatchObject({ type: 'error', status: 400 });
    expect(await client.refusal({ input: 'Again', previous_response_id: response.id })).toMatchObject(
      parentNotFound(response.id),
    );
  });

  it('a lane keeps a parent when a turn on it fails that does not continue it', async () => {
    const parent = await parentOn('a');
    const other = await parentOn('b');
    for (const previous_response_id of [null, other, 'resp_gone', 7]) {
      await client.refusal({ stream_id: 'a', input: 7, previous_response_id });
    }
    await client.turn({ stream_id: 'a', input: 'Again', store: false, previous_response_id: parent });
    expect(seen()).toEqual(['user: Parent?', 'assistant: ok', 'user: Again']);
  });

  it('a lane remembers a continuation that ends incomplete in the place of its parent', async () => {
    const parent = await parentOn('a');
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'a', input: 'long', store: false, previous_response_id: parent });
    await held.whenBegun(1);
    // Only until then: afterwards it is no longer the latest of its lane.
    await client.turn({ stream_id: 'b', input: 'Fork', store: false, previous_response_id: parent });
    held.letGo('long', { type: 'finish', reason: 'length' });
    const { response } = await client.finish('a');
    expect(response.status).toBe('incomplete');
    await client.turn({ stream_id: 'a', input: 'Go on', store: false, previous_response_id: response.id });
    expect(seen()).toHaveLength(5);
  });

  it('a lane keeps a parent when a continuation found no room to wait', async () => {
    await using small = await startService({ providers: [ScriptedProvider], environment: { WS_QUEUE_MAX_TURNS: 0 } });
    await using socket = await SocketClient.open(small);
    const { response } = await socket.turn({ stream_id: 'a', input: 'Parent?', store: false });
    const held = new HeldTurns(small.app.get(ScriptedProvider)).hold();
    const more = { stream_id: 'a', store: false, previous_response_id: response.id };
    socket.create({ input: 'runs', ...more });
    await held.whenBegun(1);
    socket.create({ input: 'too many', ...more });
    expect(await socket.nextEnd('a')).toMatchObject({ status: 429 });
    await expect(socket.turn({ ...more, stream_id: 'b', input: 'Fork' })).resolves.toMatchObject({
      response: { status: 'completed' },
    });
    held.letGo('runs');
    expect(await socket.nextEnd('a')).toMatchObject({ type: 'response.completed' });
  });

  it('a connection forgets an older response of a lane when the lane completes a newer one, related or not', async () => {
    const first = await parentOn('a');
    const second = await parentOn('a');
    const refusal = await client.refusal({ stream_id: 'b', input: 'Hi', previous_response_id: first });
    expect(refusal).toMatchObject(parentNotFound(first));
    await client.warmUp({ stream_id: 'a', store: false });
    expect(await client.refusal({ stream_id: 'b', input: 'Hi', previous_response_id: second })).toMatchObject(
      parentNotFound(second),
    );
  });
});
