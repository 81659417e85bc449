import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { SCOPES } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { routesOf } from './routes-of.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { bearer, KeysFile, sha256 } from './keys.js';

/** Every route of the API under /v1, and the scope that it needs. */
const ROUTES: readonly (readonly [method: string, path: string, scope: string])[] = [
  ['POST', 'responses', 'responses:write'],
  ['GET', 'responses', 'responses:read'],
  ['GET', 'responses/:id', 'responses:read'],
  ['DELETE', 'responses/:id', 'responses:delete'],
  ['GET', 'responses/:id/input_items', 'responses:read'],
  ['POST', 'responses/:id/cancel', 'responses:write'],
  ['GET', 'responses/:id/children', 'responses:read'],
  ['GET', 'responses/:id/siblings', 'responses:read'],
  ['GET', 'responses/:id/leaves', 'responses:read'],
  ['GET', 'responses/:id/tree', 'responses:read'],
  ['GET', 'responses/:id/turn', 'responses:read'],
  ['GET', 'approvals', 'responses:read'],
  ['POST', 'responses/compact', 'responses:write'],
  ['POST', 'responses/input_tokens', 'responses:write'],
  ['GET', 'sessions/:id/responses', 'responses:read'],
  ['POST', 'sessions/:id/fork', 'responses:write'],
  ['DELETE', 'sessions/:id', 'responses:delete'],
  ['POST', 'conversations', 'responses:write'],
  ['GET', 'conversations/:id', 'responses:read'],
  ['POST', 'conversations/:id', 'responses:write'],
  ['DELETE', 'conversations/:id', 'responses:delete'],
  ['POST', 'conversations/:id/items', 'responses:write'],
  ['GET', 'conversations/:id/items', 'responses:read'],
  ['GET', 'conversations/:id/items/:item', 'responses:read'],
  ['DELETE', 'conversations/:id/items/:item', 'responses:delete'],
  ['GET', 'connections', 'responses:read'],
  ['DELETE', 'connections/:id', 'responses:write'],
  ['POST', 'socket_tokens', 'responses:write'],
  ['GET', 'usage', 'responses:read'],
  ['GET', 'activity', 'responses:read'],
  ['POST', 'chat/completions', 'responses:write'],
  ['GET', 'chat/completions', 'responses:read'],
  ['GET', 'chat/completions/:id', 'responses:read'],
  ['POST', 'chat/completions/:id', 'responses:write'],
  ['GET', 'chat/completions/:id/messages', 'responses:read'],
  ['DELETE', 'chat/completions/:id', 'responses:delete'],
  ['POST', 'embeddings', 'responses:write'],
  ['POST', 'messages', 'responses:write'],
  ['POST', 'messages/count_tokens', 'responses:write'],
  ['POST', 'files', 'responses:write'],
  ['GET', 'files', 'responses:read'],
  ['GET', 'files/:id', 'responses:read'],
  ['DELETE', 'files/:id', 'responses:delete'],
  ['GET', 'files/:id/content', 'responses:read'],
  ['POST', 'uploads', 'responses:write'],
  ['POST', 'uploads/:id/parts', 'responses:write'],
  ['POST', 'uploads/:id/complete', 'responses:write'],
  ['POST', 'uploads/:id/cancel', 'responses:write'],
  ['POST', 'vector_stores', 'responses:write'],
  ['GET', 'vector_stores', 'responses:read'],
  ['GET', 'vector_stores/:id', 'responses:read'],
  ['POST', 'vector_stores/:id', 'responses:write'],
  ['DELETE', 'vector_stores/:id', 'responses:delete'],
  ['POST', 'vector_stores/:id/search', 'responses:read'],
  ['POST', 'vector_stores/:id/files', 'responses:write'],
  ['GET', 'vector_stores/:id/files', 'responses:read'],
  ['GET', 'vector_stores/:id/files/:item', 'responses:read'],
  ['POST', 'vector_stores/:id/files/:item', 'responses:write'],
  ['DELETE', 'vector_stores/:id/files/:item', 'responses:delete'],
  ['GET', 'vector_stores/:id/files/:item/content', 'responses:read'],
  ['POST', 'vector_stores/:id/file_batches', 'responses:write'],
  ['GET', 'vector_stores/:id/file_batches/:item', 'responses:read'],
  ['POST', 'vector_stores/:id/file_batches/:item/cancel', 'responses:write'],
  ['GET', 'vector_stores/:id/file_batches/:item/files', 'responses:read'],
  ['GET', 'models', 'any'],
  ['GET', 'models/:id', 'any'],
  ['GET', 'prompts', 'any'],
  ['GET', 'prompts/:id', 'any'],
];

/** Routes that answer 405 or the like, whatever the scope. */
const REFUSING = ['compact', 'input_tokens'].flatMap((path) => [`GET responses/${path}`, `DELETE responses/${path}`]);

const keyOf = (scope: string): string => `key-with-${scope}`;

let file: KeysFile;
let service: Service;

beforeAll(async () => {
  const entry = (id: string, more: object = {}): object => ({
    id,
    tenant: 'red',
    secrets: [{ sha256: sha256(keyOf(id)) }],
    ...more,
  });
  file = await KeysFile.with([
    ...SCOPES.map((scope) => entry(scope, { scopes: [scope] })),
    entry('nothing', { scopes: [] }),
    entry('default'),
    entry('mini', { models: ['gpt-*-mini', 'scripted-?'] }),
  ]);
  service = await startService({ environment: { KEYS_FILE: file.path }, providers: [ScriptedProvider] });
});

afterAll(async () => {
  await service.close();
  await file[Symbol.asyncDispose]();
});

function ask(method: string, path: string, key: string): Promise<Response> {
  const url = `${service.baseURL}/${path.replace(/:\w+/g, 'resp_1')}`;
  const body = method === 'POST' ? { body: '{}' } : {};
  return fetch(url, { method, headers: { ...bearer(key), 'content-type': 'application/json' }, ...body });
}

async function codeOf(answer: Response): Promise<unknown> {
  const { error } = (await answer.json()) as { readonly error?: { readonly code?: unknown; readonly type: unknown } };
  // Errors in the form of Anthropic have no code.
  return error?.code ?? (error?.type === 'permission_error' ? 'missing_scope' : undefined);
}

describe('the scope of a route', () => {
  it('the scope is decided for every route', () => {
    const found = routesOf(service);
    const known = new Set([...ROUTES.map(([method, path]) => `${method} ${path}`), ...REFUSING]);
    const named = (route: string): string =>
      route
        .replace(/:\w+/g, ':id')
        .replace(/(items|\/files|file_batches)\/:id/, '$1/:item')
        .replace('models*', 'models/:id');
    const undecided = found.filter((route) => !/^(?:HEAD|OPTIONS) /.test(route) && !known.has(named(route)));
    expect(found.length).toBeGreaterThan(ROUTES.length);
    expect(undecided).toEqual([]);
  });

  describe.each(ROUTES)('%s %s: %s', (method, path, needed) => {
    it.each(SCOPES)('the scope of a route decides for a key with %s', async (scope) => {
      const code = await codeOf(await ask(method, path, keyOf(scope)));
      if (needed === 'any' || scope === needed) expect(code).not.toBe('missing_scope');
      else expect(code).toBe('missing_scope');
    });
  });

  it('the scope of a route is missing to a key without scopes, and not to one whose entry names none', async () => {
    const refused = await ask('GET', 'responses', keyOf('nothing'));
    expect(refused.status).toBe(403);
    expect(await refused.json()).toEqual({
      error: {
        message: expect.stringContaining('Missing scope: responses:read') as unknown,
        type: 'invalid_request_error',
        param: null,
        code: 'missing_scope',
      },
    });
    expect((await ask('GET', 'responses', keyOf('default'))).status).toBe(200);
  });

  it('the scope of a route holds for sockets', async () => {
    const refused = await SocketClient.refused(service, { headers: bearer(keyOf('responses:read')) });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'missing_scope' } } });
    await using socket = await SocketClient.open(service, { headers: bearer(keyOf('responses:write')) });
    socket.create({ input: 'Hi' });
    expect((await socket.finish()).response.status).toBe('completed');
  });
});

describe('a key that is limited to models', () => {
  const api = (): ApiClient => new ApiClient(service.baseURL, bearer(keyOf('mini')));
  const refused = { status: 403, body: { error: { code: 'model_not_allowed', param: 'model' } } };

  it.each([
    ['JSON', 'responses', {}],
    ['SSE', 'responses', { stream: true }],
    ['background', 'responses', { background: true }],
    ['a count', 'responses/input_tokens', {}],
    ['a compaction', 'responses/compact', {}],
  ])('a key that is limited to models may not use others: %s', async (_name, path, more) => {
    const body = { model: 'gpt-5', input: 'Hi', ...more };
    expect(await api().post(path, body)).toMatchObject(refused);
    expect(await api().post('responses', { ...body, stream: false, model: 'scripted-1' })).toMatchObject({
      status: 200,
    });
  });

  it('a key that is limited to models may not use others on a socket, which stays open', async () => {
    await using socket = await SocketClient.open(service, { headers: bearer(keyOf('mini')) });
    socket.create({ model: 'gpt-5', input: 'Hi' });
    expect(await socket.next()).toMatchObject({ type: 'error', status: 403, error: { code: 'model_not_allowed' } });
    socket.create({ model: 'gpt-5-mini', input: 'Hi' });
    expect((await socket.finish()).response.status).toBe('completed');
  });

  it('a key that is limited to models sees only its own models', async () => {
    expect((await api().get('models')).body).toMatchObject({ data: [] });
    expect((await api().get('models/scripted-1')).status).toBe(200);
    const hidden = await api().get('models/scripted');
    expect(hidden).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
  });
});
