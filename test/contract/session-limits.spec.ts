import { afterEach, describe, expect, it } from '@jest/globals';

import OpenAI from 'openai';

import type { Environment } from '../../src/config/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useServices } from '../support/describe-service.js';
import type { Service } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { SESSION_TURNS } from '../support/transports.js';
import { type HttpAnswer, postJson } from '../support/sse.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('the maximum of a session in $state', ({ open }) => {
  let service: Service;
  let api: ApiClient;
  let provider: ScriptedProvider;

  const serviceOf = useServices({ providers: [ScriptedProvider] }, (options) => startServiceIn(open, options));
  const start = async (most: number, environment: Partial<Environment> = {}): Promise<void> => {
    service = await serviceOf({ SESSION_MAX_RESPONSES: most, ...environment });
    api = new ApiClient(service.baseURL);
    provider = service.app.get(ScriptedProvider).reset();
  };

  afterEach(async () => {
    for (const name of ['full', 'another', 'fork', 'one', 'two', 'three', 'endless', 'busy'])
      await api.delete(`sessions/${name}`);
  });

  const fullFor = (param: string): object => ({
    status: 400,
    body: {
      error: {
        type: 'invalid_request_error',
        code: 'session_limit_reached',
        param,
        message:
          'The session has reached its maximum of 2 responses. Start a new session, or fork this one up to an earlier response.',
      },
    },
  });
  const full = fullFor('x-session-id');

  it.each(SESSION_TURNS)('a full session refuses one more before the model is asked: %s', async (_, turn, param) => {
    await start(2);
    const { id } = await turn(service, 'full');
    await turn(service, 'full', { previous_response_id: id });
    const asked = provider.turns.length;
    await expect(turn(service, 'full')).rejects.toMatchObject(fullFor(param));
    await expect(turn(service, 'full', { previous_response_id: id })).rejects.toMatchObject(fullFor(param));
    expect(provider.turns).toHaveLength(asked);
    expect(await api.idsOf('sessions/full/responses')).toHaveLength(2);
    await expect(turn(service, 'another')).resolves.toMatchObject({ status: 'completed' });
  });

  it('a session gives its last place to a background response, and refuses the next one at once', async () => {
    await start(1);
    const create = (): Promise<HttpAnswer> => {
      const body = { model: 'm', input: 'Hi', background: true };
      return postJson(`${service.baseURL}/responses`, body, { headers: { 'x-session-id': 'full' } });
    };
    const { status, body } = await create();
    expect(status).toBe(200);
    expect(await create()).toMatchObject({ status: 400, body: { error: { code: 'session_limit_reached' } } });
    const client = new OpenAI({ apiKey: 'test', baseURL: service.baseURL, maxRetries: 0 });
    const { id } = body as { readonly id: string };
    let response = await client.responses.retrieve(id);
    while (response.status === 'queued' || response.status === 'in_progress')
      response = await client.responses.retrieve(id);
    expect(response).toMatchObject({ status: 'completed', error: null });
  });

  it.each(SESSION_TURNS)('the maximum of a session does not count what is not stored: %s', async (_, turn) => {
    await start(2);
    for (let count = 0; count < 3; count += 1) await turn(service, 'full', { store: false });
    const { id } = await turn(service, 'full');
    await turn(service, 'full');
    await expect(turn(service, 'full', { store: false, previous_response_id: id })).resolves.toMatchObject({
      status: 'completed',
    });
  });

  it('a full session has room again for what was deleted', async () => {
    await start(2);
    const session = api.with({ 'x-session-id': 'full' });
    const [first] = [await session.create({}), await session.create({})];
    await expect(session.create({})).rejects.toMatchObject(full);
    await api.delete(`responses/${first.id}`);
    await session.create({});
    await expect(session.create({})).rejects.toMatchObject(full);
    await api.delete('sessions/full');
    await session.create({});
  });

  it('the maximum of a session counts what a fork shares', async () => {
    await start(2);
    const session = api.with({ 'x-session-id': 'full' });
    await session.create({});
    const { id } = await session.create({});
    await api.post('sessions/full/fork', { target_session_id: 'fork' });
    const fork = api.with({ 'x-session-id': 'fork' });
    await expect(fork.create({ previous_response_id: id })).rejects.toMatchObject(full);
  });

  it('a session refuses a fork when as many sessions share its responses as may, until one of them is deleted', async () => {
    await start(2, { SESSION_MAX_FORKS: 2 });
    await api.with({ 'x-session-id': 'full' }).create({});
    const fork = (target: string): Promise<HttpAnswer> => api.post('sessions/full/fork', { target_session_id: target });
    expect([await fork('one'), await fork('two')]).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(await fork('three')).toMatchObject({
      status: 400,
      body: {
        error: {
          ...{ type: 'invalid_request_error', code: 'session_limit_reached', param: 'target_session_id' },
          message:
            "At most 2 sessions can share a response of session 'full'. Delete those that are not needed any more.",
        },
      },
    });
    await api.delete('sessions/one');
    expect(await fork('three')).toMatchObject({ status: 200 });
  });

  it('chains that nobody named have no maximum', async () => {
    await start(2);
    let parent: string | null = null;
    for (let count = 0; count < 4; count += 1) {
      parent = (await api.create({ previous_response_id: parent })).id;
    }
    expect((await api.get(`responses/${String(parent)}`)).status).toBe(200);
  });

  it('a maximum of 0 is none', async () => {
    await start(0);
    const session = api.with({ 'x-session-id': 'endless' });
    for (let count = 0; count < 5; count += 1) await session.create({});
    expect(await api.idsOf('sessions/endless/responses')).toHaveLength(5);
  });

  it('a session holds to its maximum when turns come at once', async () => {
    await start(2);
    const session = api.with({ 'x-session-id': 'busy' });
    const answers = await Promise.all(Array.from({ length: 6 }, () => session.post('responses', turnBody)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400, 400, 400]);
    expect(await api.idsOf('sessions/busy/responses')).toHaveLength(2);
  });

  it('a session holds to its maximum when ten lanes of a socket, which have no lock, come at once: the others fail', async () => {
    await start(5);
    const held = new HeldTurns(provider).hold(10);
    await using client = await SocketClient.open(service);
    for (let lane = 0; lane < 10; lane += 1) {
      client.create({ stream_id: `lane-${lane}`, input: `turn ${lane}`, session_id: 'busy' });
    }
    // Each has found room before its model was asked.
    await held.whenBegun(10);
    held.letAllGo();
    const ends = await Promise.all(Array.from({ length: 10 }, (_, lane) => client.finish(`lane-${lane}`)));
    const failed = ends.filter(({ response }) => response['status'] === 'failed');
    expect(failed).toHaveLength(5);
    for (const { response } of failed) expect(response).toMatchObject({ error: { code: 'session_limit_reached' } });
    expect(await api.idsOf('sessions/busy/responses')).toHaveLength(5);
  });

  it('a session holds to its maximum when ten background responses are created at once', async () => {
    await start(5);
    const held = new HeldTurns(provider).hold(10);
    const session = api.with({ 'x-session-id': 'busy' });
    const body = { ...turnBody, background: true };
    const answers = await Promise.all(Array.from({ length: 10 }, () => session.post('responses', body)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(5);
    expect(await api.idsOf('sessions/busy/responses')).toHaveLength(5);
    held.letGo('Hi');
  });
});

const turnBody = { model: 'scripted', input: 'Hi' };
