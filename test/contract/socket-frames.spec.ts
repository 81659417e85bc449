import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';

/** Messages that are no request, and what they are answered with. */
const REFUSED: readonly (readonly [what: string, message: object | string | Buffer, error: object])[] = [
  ['no JSON', '{"type":"response.create"', { code: 'invalid_json', param: null }],
  ['an empty message', '', { code: 'invalid_json', param: null }],
  ['a binary message', Buffer.from('{"type":"response.create"}'), { code: 'invalid_json', param: null }],
  ['a list', '[{"type":"response.create"}]', { code: 'invalid_type', param: null }],
  ['a text', '"response.create"', { code: 'invalid_type', param: null }],
  ['a number', '7', { code: 'invalid_type', param: null }],
  ['null', 'null', { code: 'invalid_type', param: null }],
  ['no type', { model: 'm', input: 'Hi' }, { code: 'unknown_event_type', param: 'type' }],
  ['a type that is null', { type: null }, { code: 'unknown_event_type', param: 'type' }],
  ['a type that is a number', { type: 7 }, { code: 'unknown_event_type', param: 'type' }],
  ['a type that is an object', { type: {} }, { code: 'unknown_event_type', param: 'type' }],
  ['an event of the server', { type: 'response.completed' }, { code: 'unknown_event_type', param: 'type' }],
  ['an event of another endpoint', { type: 'session.update' }, { code: 'unknown_event_type', param: 'type' }],
  ['response.cancel', { type: 'response.cancel' }, { code: 'unknown_event_type', param: 'type' }],
  ['a type that objects have', { type: 'constructor' }, { code: 'unknown_event_type', param: 'type' }],
  ['a very long type', { type: 'x'.repeat(100_000) }, { code: 'unknown_event_type', param: 'type' }],
  ['a nested text', { type: 'response.create', response: 'Hi' }, { code: 'invalid_type', param: 'response' }],
  ['a nested list', { type: 'response.create', response: [] }, { code: 'invalid_type', param: 'response' }],
];

describeService('the frames of a client', { providers: [ScriptedProvider] }, (service) => {
  let client: SocketClient;

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  const lastTurn = (): ScriptedProvider['turns'][number] | undefined => service.provider.turns.at(-1);

  it.each<[what: string, frame: object, lane: string | undefined]>([
    ['flat', { model: 'm', input: 'Hi', temperature: 0.5 }, undefined],
    ['flat, on a lane', { model: 'm', input: 'Hi', temperature: 0.5, stream_id: 'a' }, 'a'],
    ['nested', { response: { model: 'm', input: 'Hi', temperature: 0.5 } }, undefined],
    ['nested, on a lane', { stream_id: 'a', response: { model: 'm', input: 'Hi', temperature: 0.5 } }, 'a'],
    ['nested with its lane', { response: { stream_id: 'a', model: 'm', input: 'Hi', temperature: 0.5 } }, 'a'],
    [
      'nested with null for its lane',
      { response: { stream_id: null, model: 'm', input: 'Hi', temperature: 0.5 } },
      undefined,
    ],
    ['nested in part', { model: 'm', temperature: 0.5, response: { input: 'Hi' } }, undefined],
    ['flat with null for what is nested', { response: null, model: 'm', input: 'Hi', temperature: 0.5 }, undefined],
  ])('a frame of a client may hold a request %s', async (_, frame, lane) => {
    client.send({ type: 'response.create', ...frame });
    const { response } = await client.finish(lane);
    expect(response).toMatchObject({ status: 'completed', model: 'm', temperature: 0.5 });
    expect(transcript(lastTurn()?.context ?? [])).toEqual(['user: Hi']);
  });

  it.each<[name: string, frame: object]>([
    ['temperature', { model: 'm', temperature: 1, response: { input: 'Hi', temperature: 0.5 } }],
    ['stream_id', { model: 'm', input: 'Hi', stream_id: 'a', response: { stream_id: 'b' } }],
  ])('a frame of a client may not have two values for %s, flat and nested', async (name, frame) => {
    client.send({ type: 'response.create', ...frame });
    const error = { code: 'mutually_exclusive_parameters', param: `response.${name}` };
    expect(await client.next()).toMatchObject({ type: 'error', status: 400, error });
  });

  it('a frame of a client may say the same, flat and nested', async () => {
    client.send({
      type: 'response.create',
      model: 'm',
      stream: true,
      response: { model: 'm', input: 'Hi', stream: false },
    });
    expect((await client.finish()).response).toMatchObject({ status: 'completed', model: 'm' });
  });

  it('a refusal names the nested lane in its place too', async () => {
    client.send({ type: 'response.create', response: { stream_id: 'a', model: 'm', input: 7 } });
    expect(await client.next()).toMatchObject({ type: 'error', stream_id: 'a', error: { param: 'input' } });
    client.send({ type: 'response.create', response: { stream_id: 'a b', model: 'm', input: 7 } });
    expect(await client.next()).toMatchObject({ type: 'error', error: { code: 'invalid_stream_id' } });
  });

  it.each(REFUSED)('a client gets an error for %s, and goes on', async (_, message, error) => {
    client.send(message);
    const frame = await client.next();
    expect(frame).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', ...error, headers: { 'x-request-id': expect.stringMatching(/^req_/) } },
    });
    expect((frame['error'] as { readonly message: string }).message).toMatch(/^.{10,300}$/s);
    expect(frame).not.toHaveProperty('stream_id');
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('a client gets an error for text that is not UTF-8, and goes on', async () => {
    // It would be JSON if the broken character were replaced.
    const bytes = Buffer.from('{"type":"response.create","model":"m","input":"?"}');
    bytes[bytes.indexOf('?')] = 0xff;
    client.socket.send(bytes, { binary: false });
    expect(await client.next()).toMatchObject({ type: 'error', status: 400, error: { code: 'invalid_json' } });
    await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
  });

  it('a client cannot disturb a running turn with any of these frames', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'a', input: 'steady' });
    await held.whenBegun(1);
    for (const [, message, error] of REFUSED) {
      client.send(message);
      expect(await client.nextOf()).toMatchObject({ type: 'error', error });
    }
    held.letGo('steady');
    const { response } = await client.finish('a');
    expect(response).toMatchObject({ status: 'completed', output: [{ content: [{ text: 're steady' }] }] });
  });

  it('a frame of a client has text beyond ASCII, also in several frames of the socket', async () => {
    const text = '¿Qué? 你好 🙂';
    const bytes = Buffer.from(JSON.stringify({ type: 'response.create', model: 'm', input: text }));
    // Cut within a character.
    const cut = bytes.indexOf('🙂') + 2;
    client.socket.send(bytes.subarray(0, cut), { binary: false, fin: false });
    client.socket.send(bytes.subarray(cut), { binary: false, fin: true });
    service.provider.reply({ type: 'text', delta: text });
    const { response } = await client.finish();
    expect(response).toMatchObject({ output: [{ content: [{ text }] }] });
    expect(transcript(lastTurn()?.context ?? [])).toEqual([`user: ${text}`]);
  });

  it('the service is silent about response.processed', async () => {
    client.send({ type: 'response.processed', response_id: 'resp_1' });
    client.send({ type: 'after.it' });
    const frame = await client.next();
    expect(frame).toMatchObject({ type: 'error', error: { code: 'unknown_event_type' } });
    expect((frame['error'] as { readonly message: string }).message).toContain('after.it');
    expect(client.unread).toHaveLength(0);
  });

  it('a client is told that steering is not supported, and the running turn goes on', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ stream_id: 'a', input: 'steady' });
    const { id } = (await client.nextOf('a'))['response'] as { readonly id: string };
    client.send({ type: 'response.steer', previous_response_id: id, input: 'Left!' });
    expect(await nextOfType(client, 'response.steer.failed', 'a')).toEqual({
      type: 'response.steer.failed',
      sequence_number: 0,
      stream_id: 'a',
      error: {
        type: 'invalid_request_error',
        code: 'steering_not_supported',
        message: expect.stringMatching(/cannot be steered/),
      },
      steer: { previous_response_id: id, input: 'Left!' },
    });
    held.letGo('steady');
    expect(await client.nextEnd('a')).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 're steady' }] }] },
    });
  });

  it('a client is told of an unknown mode of interrupting, and the running turn goes on', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ input: 'steady' });
    const { id } = (await client.next())['response'] as { readonly id: string };
    await held.whenBegun(1);
    client.send({ type: 'response.interrupt', response_id: id, mode: 'keep' });
    const types: unknown[] = [];
    for (;;) {
      const frame = await client.next();
      types.push(frame.type);
      if (frame.type !== 'response.interrupt.failed') continue;
      expect(frame).toMatchObject({ response_id: id, error: { type: 'invalid_request_error' } });
      break;
    }
    // Codex gives the connection up on an error frame.
    expect(types).not.toContain('error');
    held.letGo('steady');
    expect(await client.nextEnd()).toMatchObject({ type: 'response.completed' });
  });

  it('a frame of a client may steer with nothing in it', async () => {
    client.send({ type: 'response.steer' });
    expect(await client.next()).toMatchObject({
      type: 'response.steer.failed',
      error: { code: 'response_not_found' },
      steer: { previous_response_id: null, input: null },
    });
  });

  it.each(['response.create', 'response.steer', 'response.append'])(
    'a frame of a client may not be nested deeper than JSON can be read: %s',
    async (type) => {
      if (type === 'response.append') await client.turn({ input: 'Hi' });
      const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
      client.send(`{"type":"${type}","model":"m","input":${deep}}`);
      expect(await client.next()).toMatchObject({ type: 'error', status: 400, error: { param: 'input' } });
      await expect(client.turn({ input: 'Hi' })).resolves.toMatchObject({ response: { status: 'completed' } });
    },
  );
});

async function nextOfType(client: SocketClient, type: string, streamId: string): Promise<unknown> {
  for (;;) {
    const frame = await client.nextOf(streamId);
    if (frame.type === type) return frame;
  }
}
