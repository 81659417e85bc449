import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { postJson } from '../support/sse.js';

describe('UNKNOWN_PARAMETERS=reject', () => {
  const service = useService({ providers: [ScriptedProvider], environment: { UNKNOWN_PARAMETERS: 'reject' } });
  let client: SocketClient;

  beforeEach(async () => {
    client = await SocketClient.open(service);
  });

  afterEach(() => client[Symbol.asyncDispose]());

  it('UNKNOWN_PARAMETERS=reject knows generate on sockets', async () => {
    await expect(client.warmUp({})).resolves.toMatchObject({ response: { output: [] } });
    await expect(client.turn({ input: 'Hi', generate: true })).resolves.toMatchObject({
      response: { status: 'completed' },
    });
  });

  it.each(['generate', 'stream_id', 'type'])('UNKNOWN_PARAMETERS=reject does not know %s over HTTP', async (param) => {
    const answer = await postJson(`${service.baseURL}/responses`, { model: 'm', input: 'Hi', [param]: 'x' });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'unknown_parameter', param } } });
  });

  it.each<[what: string, frame: object]>([
    ['flat', { model: 'm', input: 'Hi', stream: true, background: true, stream_id: 'a' }],
    ['of the wrong kind', { model: 'm', input: 'Hi', stream: 7, background: 'x', stream_id: 'a' }],
    ['nested', { response: { model: 'm', input: 'Hi', stream: true, background: true, stream_id: 'a', type: 'x' } }],
    ['in both places', { stream: true, stream_id: 'a', response: { model: 'm', input: 'Hi', background: false } }],
  ])('UNKNOWN_PARAMETERS=reject knows what belongs to the envelope and ignores it: %s', async (_, frame) => {
    client.send({ type: 'response.create', ...frame });
    const { response } = await client.finish('a');
    expect(response).toMatchObject({ status: 'completed', background: false });
  });

  it.each<[what: string, frame: object]>([
    ['flat', { model: 'm', input: 'Hi', temprature: 1 }],
    ['nested', { response: { model: 'm', input: 'Hi', temprature: 1 } }],
    ['next to what is nested', { temprature: 1, response: { model: 'm', input: 'Hi' } }],
  ])('UNKNOWN_PARAMETERS=reject refuses everything else: %s', async (_, frame) => {
    client.send({ type: 'response.create', ...frame });
    expect(await client.next()).toMatchObject({
      type: 'error',
      status: 400,
      error: {
        type: 'invalid_request_error',
        code: 'unknown_parameter',
        param: 'temprature',
        message: expect.stringContaining("Did you mean 'temperature'?") as unknown,
      },
    });
  });

  it.each<[what: string, code: string, members: object]>([
    ['an unknown member', 'unknown_parameter', { bogus: 1 }],
    ['a member that an append cannot change', 'unsupported_parameter', { temperature: 1 }],
  ])('UNKNOWN_PARAMETERS=reject refuses %s of a response.append', async (_, code, members) => {
    await client.turn({ input: 'Hi' });
    client.send({ type: 'response.append', input: [{ role: 'user', content: 'More' }], ...members });
    const [param] = Object.keys(members);
    expect(await client.next()).toMatchObject({ type: 'error', status: 400, error: { code, param } });
  });

  it('UNKNOWN_PARAMETERS=reject lets client_metadata pass, and appended requests', async () => {
    const client_metadata = { session_id: 's', thread_id: 't' };
    await client.turn({ input: 'Hi', client_metadata, stream: true });
    client.send({ type: 'response.append', input: [{ role: 'user', content: 'More' }] });
    await expect(client.finish()).resolves.toMatchObject({ response: { status: 'completed' } });
  });
});

describe('unknown parameters of sockets, by default', () => {
  const service = useService({ providers: [ScriptedProvider] });

  it.each<[what: string, param: string, frame: object]>([
    ['a letter that is missing', 'steam_id', { steam_id: 'a' }],
    ['a letter too many', 'streamm_id', { streamm_id: 'a' }],
    ['nested in response', 'stream_di', { response: { stream_di: 'a' } }],
  ])(
    'the service refuses a misspelt stream_id, whose turn would run on the default lane: %s',
    async (_, param, frame) => {
      await using client = await SocketClient.open(service);
      client.create({ input: 'Hi', ...frame });
      const message = `Unknown parameter: '${param}'. Did you mean 'stream_id'?`;
      expect(await client.next()).toMatchObject({ status: 400, error: { code: 'unknown_parameter', param, message } });
    },
  );
});
