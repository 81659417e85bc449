import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { type Service, startService } from '../support/service.js';

const KEYS = 'alice:sk-alice,bob:sk-bob';

const service = useService({ environment: { API_KEYS: KEYS, SIMULATOR_CONTROL: true } });

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

/** Asks as alice, in a space of a name; the empty name is the space without the header. */
async function ask(method: string, path: string, body?: unknown, space = '', key = 'sk-alice'): Promise<Answered> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(space === '' ? {} : { 'x-simulator-space': space }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await fetch(`${service.origin}${path}`, init);
  return { status: answer.status, body: await answer.json() };
}

/** The text of an answer, or the code of an error. */
async function say(input: string, space = '', key = 'sk-alice', model = 'clerk'): Promise<unknown> {
  const { body } = await ask('POST', '/v1/responses', { model, input }, space, key);
  const { output_text: text, error } = body as { output_text?: string; error?: { code: unknown } | null };
  return error == null ? text : error.code;
}

const script = (...texts: readonly string[]): object => ({
  model: 'clerk',
  on_exhausted: 'error',
  turns: texts.map((text) => ({ text })),
});

beforeEach(async () => {
  for (const key of ['sk-alice', 'sk-bob'])
    for (const space of ['', 'one', 'two']) await ask('POST', '/simulator/reset', undefined, space, key);
});

describe('the scripts of a space', () => {
  it('the scripts of a space are added, replaced, listed and removed, and answer nobody else', async () => {
    const listed = { object: 'simulator.script', model: 'clerk', match: 'order' };
    expect(await ask('POST', '/simulator/scripts', script('one a', 'one b'), 'one')).toEqual({
      status: 200,
      body: { ...listed, turns: 2 },
    });
    await ask('POST', '/simulator/scripts', script('two'), 'two');
    await ask('POST', '/simulator/scripts', script('of bob'), 'one', 'sk-bob');
    expect([
      await say('a', 'one'),
      await say('a', 'two'),
      await say('a', 'one', 'sk-bob'),
      await say('b', 'one'),
    ]).toEqual([...['one a', 'two', 'of bob', 'one b']]);
    expect(await say('c', 'one')).toBe('script_exhausted');
    // The 64 of a tenant that were used last are kept, whatever others use.
    for (let other = 0; other < 70; other++) await ask('GET', '/simulator/faults', undefined, `other ${other}`);
    expect(await ask('GET', '/simulator/scripts', undefined, 'two')).toMatchObject({ body: { data: [] } });
    expect(await ask('GET', '/simulator/scripts', undefined, 'one', 'sk-bob')).toMatchObject({
      body: { data: [listed] },
    });
    await ask('POST', '/simulator/scripts', script('anew'), 'one');
    expect(await say('c', 'one')).toBe('anew');
    expect((await ask('GET', '/simulator/scripts', undefined, 'one')).body).toEqual({
      object: 'list',
      data: [{ ...listed, turns: 1 }],
    });
    expect(await ask('DELETE', '/simulator/scripts/clerk', undefined, 'one')).toMatchObject({
      status: 200,
      body: { model: 'clerk', deleted: true },
    });
    expect(await ask('DELETE', '/simulator/scripts/clerk', undefined, 'one')).toMatchObject({ status: 404 });
    expect(await say('a', 'one')).not.toBe('anew');
    expect((await ask('GET', '/simulator/scripts')).body).toMatchObject({ data: [] });
  });

  it.each([
    ['without turns', { model: 'clerk' }, 'turns', null],
    ['without a model', { turns: [{ text: 'x' }] }, 'model is missing', null],
    [
      'with a wrong turn',
      { model: 'clerk', turns: [{ txt: 'x' }] },
      "turns[0] has the unknown member 'txt' (did you mean 'text'?)",
      'turns[0].txt',
    ],
    ['that is none', [], 'Invalid body: it must be an object, but is an array', null],
  ])('the scripts of a space are refused %s', async (_, body, message, param) => {
    expect(await ask('POST', '/simulator/scripts', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param, message: expect.stringContaining(message) } },
    });
  });
});

describe('the faults of a space', () => {
  it('the faults of a space hit the next turns of the space', async () => {
    await ask('POST', '/simulator/scripts', script('a', 'b'), 'one');
    await ask('POST', '/simulator/faults', { kind: 'unavailable', turns: 2, retry_after: 1 }, 'one');
    await ask('POST', '/simulator/faults', { kind: 'rate_limit' }, 'one');
    expect((await ask('GET', '/simulator/faults', undefined, 'one')).body).toMatchObject({
      data: [
        { kind: 'unavailable', turns: 2 },
        { kind: 'rate_limit', turns: 1 },
      ],
    });
    const said = [];
    for (let time = 0; time < 4; time++) said.push(await say('x', 'one'));
    expect(said).toEqual(['server_is_overloaded', 'server_is_overloaded', 'rate_limit_exceeded', 'a']);
    await ask('POST', '/simulator/faults', { kind: 'rate_limit', turns: 9 }, 'one');
    await ask('DELETE', '/simulator/faults', undefined, 'one');
    expect(await say('x', 'one')).toBe('b');
  });

  it('the faults of a space are shown with everything that was posted', async () => {
    const fault = { kind: 'stall', turns: 2, after: 1, for: 10, retry_after: 3 };
    const listed = { object: 'simulator.fault', ...fault };
    expect((await ask('POST', '/simulator/faults', fault, 'one')).body).toEqual(listed);
    expect((await ask('GET', '/simulator/faults', undefined, 'one')).body).toEqual({ object: 'list', data: [listed] });
  });

  it('the faults of a space are removed by their kind', async () => {
    await ask('POST', '/simulator/faults', { kind: 'unavailable', turns: 2 }, 'one');
    await ask('POST', '/simulator/faults', { kind: 'rate_limit' }, 'one');
    expect(await ask('DELETE', '/simulator/faults?kind=unavailable', undefined, 'one')).toMatchObject({ status: 200 });
    expect((await ask('GET', '/simulator/faults', undefined, 'one')).body).toMatchObject({
      data: [{ kind: 'rate_limit', turns: 1 }],
    });
    expect(await ask('DELETE', '/simulator/faults?kind=none', undefined, 'one')).toMatchObject({
      status: 400,
      body: { error: { param: 'kind', message: expect.stringContaining('rate_limit') } },
    });
  });

  it.each([
    [{ kind: 'none' }, 'kind'],
    [{ turns: 1 }, null],
    [{ kind: 'cut', turns: 0 }, 'turns'],
    [{ kind: 'cut', turn: 2 }, 'turn'],
  ])('the faults of a space are refused as %j', async (body, param) => {
    const answer = await ask('POST', '/simulator/faults', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { param } } });
    expect(answer).not.toMatchObject({ body: { error: { message: expect.stringContaining('the file') } } });
  });
});

describe('the journal of a space', () => {
  it('the journal of a space has every create request with its answer, in pages', async () => {
    await ask('POST', '/simulator/scripts', script('a', 'b'), 'one');
    await say('first', 'one');
    await ask('POST', '/v1/responses', { model: 'clerk', input: 'x', temprature: 1 }, 'one');
    await say('second', 'one');
    await say('third', 'one');
    await say('elsewhere', 'two');
    const read = async (query: string): Promise<unknown> =>
      (await ask('GET', `/simulator/requests${query}`, undefined, 'one')).body;
    expect(await read('')).toMatchObject({
      object: 'list',
      has_more: false,
      data: [
        { number: 1, request: { input: 'first' }, status: 'completed', response: { output_text: 'a' }, error: null },
        {
          number: 2,
          request: { temprature: 1 },
          status: 'refused',
          response: null,
          error: { code: 'unknown_parameter' },
        },
        { number: 3, request: { input: 'second' }, response: { output_text: 'b' } },
        { number: 4, status: 'refused', error: { status: 400, code: 'script_exhausted' } },
      ],
    });
    expect(await read('?after=1&limit=2')).toMatchObject({ data: [{ number: 2 }, { number: 3 }], has_more: true });
    expect(await read('?status=refused&after=2')).toMatchObject({ data: [{ number: 4 }], has_more: false });
    expect(await read('?model=other')).toMatchObject({ data: [] });
    expect(await read('?limit=-1')).toMatchObject({ error: { code: 'integer_below_min_value', param: 'limit' } });
    await ask('POST', '/simulator/reset', undefined, 'one');
    expect(await read('')).toMatchObject({ data: [] });
  });
});

describe('where the routes are', () => {
  const { NODE_ENV } = process.env;
  const ROUTES = [
    'GET requests',
    'GET scripts',
    'POST scripts',
    'GET faults',
    'DELETE faults',
    'POST reset',
    'GET recordings',
    'POST recordings',
  ];
  let started: Service;

  afterAll(() => void (process.env.NODE_ENV = NODE_ENV));

  describe.each([
    ['without SIMULATOR_CONTROL', { API_KEYS: KEYS }, 'test'],
    ['in production', { API_KEYS: KEYS, SIMULATOR_CONTROL: true }, 'production'],
  ])('%s', (_, environment, nodeEnv) => {
    beforeAll(async () => {
      process.env.NODE_ENV = nodeEnv;
      started = await startService({ environment });
    });
    afterAll(() => started.close());

    it.each(ROUTES)('the simulator without control has no route %s', async (route) => {
      const [method = '', path = ''] = route.split(' ');
      const headers = { authorization: 'Bearer sk-alice' };
      const answer = await fetch(`${started.origin}/simulator/${path}`, { method, headers });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: 'unknown_url' } });
    });
  });

  it.each(ROUTES)('the route %s of the simulator needs a key', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    expect(await ask(method, `/simulator/${path}`, undefined, '', 'sk-mallory')).toMatchObject({ status: 401 });
  });
});
