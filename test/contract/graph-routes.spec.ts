import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const PREFIXES = ['/v1', '/openai/v1'];

/** Every route of the graph and of sessions that answers GET. */
const READABLE = [
  'responses',
  'responses/<id>/children',
  'responses/<id>/siblings',
  'responses/<id>/leaves',
  'responses/<id>/tree',
  'sessions/mine/responses',
];

describe.each(STATES)('the routes of graph and sessions in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let id: string;

  beforeAll(async () => {
    ({ id } = await new ApiClient(service.baseURL, { 'x-session-id': 'mine' }).create({}));
  });

  const send = (prefix: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${service.origin}${prefix}/${path.replace('<id>', id)}`, init);

  it.each(READABLE)('the routes of graph and sessions answer under both prefixes alike: %s', async (path) => {
    const answers = await Promise.all(PREFIXES.map((prefix) => send(prefix, path)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(texts[0]).toBe(texts[1]);
    for (const { headers } of answers) {
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('x-request-id')).toMatch(/^req_/);
      expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/);
    }
  });

  it.each(READABLE)('the routes of graph and sessions answer HEAD without a body: %s', async (path) => {
    for (const prefix of PREFIXES) {
      const [get, head] = await Promise.all([send(prefix, path), send(prefix, path, { method: 'HEAD' })]);
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(String((await get.arrayBuffer()).byteLength));
      expect(
        (await send(prefix, path.replace('<id>', 'resp_no').replace('mine', 'no'), { method: 'HEAD' })).status,
      ).toBe(path === 'responses' ? 200 : 404);
    }
  });

  it.each([
    ['responses', 'GET, HEAD, POST', ['PUT', 'PATCH', 'DELETE']],
    ...READABLE.slice(1).map((path) => [path, 'GET, HEAD', ['POST', 'PUT', 'PATCH', 'DELETE']] as const),
    ['sessions/mine/fork', 'POST', ['GET', 'PUT', 'PATCH', 'DELETE']],
    ['sessions/mine', 'DELETE', ['GET', 'POST', 'PUT', 'PATCH']],
  ])('the routes of graph and sessions say what they take: %s', async (path, allowed, others) => {
    for (const prefix of PREFIXES) {
      const options = await send(prefix, path, { method: 'OPTIONS' });
      expect([options.status, options.headers.get('allow')]).toEqual([204, `${allowed}, OPTIONS`]);
      for (const method of others) {
        const body = method === 'DELETE' || method === 'GET' ? {} : { body: '{}', headers: JSON_TYPE };
        const answer = await send(prefix, path, { method, ...body });
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
        expect(await answer.json()).toMatchObject({ error: { code: 'method_not_supported', param: null } });
      }
    }
  });

  it.each(['sessions', 'sessions/', 'sessions/mine/nothing', 'sessions/mine/responses/x', 'responses/<id>/ancestors'])(
    'graph and sessions have no other routes: %s',
    async (path) => {
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await send('/v1', path, { method });
        expect(answer.status).toBe(404);
        expect(await answer.json()).toMatchObject({ error: { code: 'unknown_url' } });
      }
    },
  );

  it('the routes of graph and sessions take forks and deletions under both prefixes', async () => {
    for (const [index, prefix] of PREFIXES.entries()) {
      const body = JSON.stringify({ target_session_id: `fork-${index}` });
      const forked = await send(prefix, 'sessions/mine/fork', { method: 'POST', headers: JSON_TYPE, body });
      expect(forked.status).toBe(200);
      expect((await send(prefix, `sessions/fork-${index}`, { method: 'DELETE' })).status).toBe(200);
    }
  });

  it.each(['{', '', 'null', '{"target_session_id":"a"}{}'])(
    'the routes of graph and sessions take no fork with the body %j',
    async (body) => {
      const answer = await send('/v1', 'sessions/mine/fork', { method: 'POST', headers: JSON_TYPE, body });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error', param: null } });
    },
  );
});

const JSON_TYPE = { 'content-type': 'application/json' };
