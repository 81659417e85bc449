import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { SESSION_TURNS } from '../support/transports.js';
import { SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const UNKNOWN_ID = 'resp_0123456789abcdef0123456789abcdef';

/** Names that no session can have, and the code that refuses them. A header cannot carry all of them. */
const IN_HEADERS: readonly (readonly [name: string, code: string])[] = [
  ['', 'invalid_value'],
  ['two words', 'invalid_value'],
  ['one, two', 'invalid_value'],
  ['tab\tbed', 'invalid_value'],
  ['dépôt', 'invalid_value'],
  ['x'.repeat(257), 'string_above_max_length'],
  ['x'.repeat(10_000), 'string_above_max_length'],
];
const IN_FRAMES: readonly (readonly [name: unknown, code: string])[] = [
  ...IN_HEADERS,
  ['a\0b', 'invalid_value'],
  ['\n', 'invalid_value'],
  ['\ud800', 'invalid_value'],
  ['日本語', 'invalid_value'],
  ['😀', 'invalid_value'],
  [7, 'invalid_type'],
  [true, 'invalid_type'],
  [['a'], 'invalid_type'],
  [{ id: 'a' }, 'invalid_type'],
];

describe.each(STATES)('the name of a session in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  const violationOf = (param: string, code: string): object => ({
    status: 400,
    body: {
      error: {
        type: 'invalid_request_error',
        code,
        param,
        message: expect.stringMatching(new RegExp(`^Invalid (?:type for )?'${param}'.{10,300}$`)) as unknown,
      },
    },
  });

  describe.each(SESSION_TURNS)('in %s', (_, turn, param) => {
    const names = param === 'session_id' ? IN_FRAMES : IN_HEADERS;

    it.each(names)('the name of a session cannot be %j', async (name, code) => {
      const asked = service.provider.turns.length;
      await expect(turn(service, name as string)).rejects.toMatchObject(violationOf(param, code));
      expect(service.provider.turns).toHaveLength(asked);
    });
  });

  it('a wrong name of a session does no harm to a socket', async () => {
    await using client = await SocketClient.open(service, { headers: { 'x-session-id': 'two words' } });
    expect(await client.refusal({ input: 'Hi' })).toMatchObject({ status: 400, error: { param: 'x-session-id' } });
    const named = await client.turn({ input: 'Hi', session_id: 'one-word' });
    expect(named.response.status).toBe('completed');
    expect(await service.api.idsOf('sessions/one-word/responses')).toEqual([named.response.id]);
  });

  describe.each([
    ['responses', 'GET', 200],
    [`responses/${UNKNOWN_ID}`, 'GET', 404],
    [`responses/${UNKNOWN_ID}`, 'DELETE', 404],
    [`responses/${UNKNOWN_ID}/input_items`, 'GET', 404],
    [`responses/${UNKNOWN_ID}/cancel`, 'POST', 404],
    [`responses/${UNKNOWN_ID}/children`, 'GET', 404],
    [`responses/${UNKNOWN_ID}/siblings`, 'GET', 404],
    [`responses/${UNKNOWN_ID}/leaves`, 'GET', 404],
    [`responses/${UNKNOWN_ID}/tree`, 'GET', 404],
  ])('at %s (%s)', (path, method, status) => {
    const ask = async (name: string): Promise<{ readonly status: number; readonly body: unknown }> => {
      const answer = await fetch(`${service.baseURL}/${path}`, { method, headers: { 'x-session-id': name } });
      return { status: answer.status, body: await answer.json() };
    };

    it.each(IN_HEADERS)('the name of a session cannot be %j', async (name, code) => {
      expect(await ask(name)).toMatchObject(violationOf('x-session-id', code));
    });

    it('the name of a session can be the longest there is', async () => {
      expect(await ask('x'.repeat(256))).toMatchObject({ status });
    });
  });

  it('the name of a session is an unknown parameter in the body of a request', async () => {
    const { id } = await service.api.create({ session_id: 'of-a-body' });
    expect((await service.api.get('sessions/of-a-body/responses')).status).toBe(404);
    expect(await service.api.idsOf(`sessions/${id}/responses`)).toEqual([id]);
  });
});

describe('a service that refuses unknown parameters', () => {
  const service = useService({
    providers: [ScriptedProvider],
    environment: { UNKNOWN_PARAMETERS: 'reject' },
  });

  it('UNKNOWN_PARAMETERS=reject refuses session_id in a body, and knows it in a frame', async () => {
    const api = new ApiClient(service.baseURL);
    await expect(api.create({ session_id: 'mine' })).rejects.toMatchObject({
      status: 400,
      body: { error: { code: 'unknown_parameter', param: 'session_id' } },
    });
    await using client = await SocketClient.open(service);
    const { response } = await client.turn({ input: 'Hi', session_id: 'mine' });
    expect(await api.idsOf('sessions/mine/responses')).toEqual([response.id]);
  });

  it('UNKNOWN_PARAMETERS=reject refuses an unknown member of a fork', async () => {
    const api = new ApiClient(service.baseURL);
    const { body } = await api.post('sessions/mine/fork', { target_session_id: 'yours', up_to: 'resp_1' });
    expect(body).toMatchObject({ error: { code: 'unknown_parameter', param: 'up_to' } });
  });
});
