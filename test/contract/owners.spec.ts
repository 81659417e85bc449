import { createHash } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';

const KEYS = { alice: 'sk-alice', bob: 'sk-bob' } as const;
type Tenant = keyof typeof KEYS;

/** Every way to reach a response by its id. */
const PATHS: readonly (readonly [name: string, request: (id: string) => readonly [path: string, init: RequestInit]])[] =
  [
    ['retrieve', (id) => [id, {}]],
    ['retrieve with include', (id) => [`${id}?include[]=reasoning.encrypted_content`, {}]],
    ['retrieve as a stream', (id) => [`${id}?stream=true&starting_after=3`, {}]],
    ['cancel', (id) => [`${id}/cancel`, { method: 'POST' }]],
    ['input_items', (id) => [`${id}/input_items`, {}]],
    ['input_items after an item', (id) => [`${id}/input_items?after=msg_known&limit=1`, {}]],
    ['continue', (id) => ['', continuation(id, false)]],
    ['continue with a stream', (id) => ['', continuation(id, true)]],
    [
      'continue with an output',
      (id) => ['', continuation(id, false, [{ type: 'function_call_output', call_id: 'call_1', output: '' }])],
    ],
    [
      'continue with an item of it',
      (id) => ['', continuation(id, true, [{ id: 'msg_known', role: 'user', content: 'x' }])],
    ],
    ['delete', (id) => [id, { method: 'DELETE' }]],
  ];

describe('two tenants', () => {
  let service: Service;
  let provider: ScriptedProvider;

  beforeAll(async () => {
    const digest = createHash('sha256').update(KEYS.bob).digest('hex');
    service = await startService({
      providers: [ScriptedProvider],
      environment: { API_KEYS: `alice:${KEYS.alice},bob:sha256:${digest}` },
    });
    provider = service.app.get(ScriptedProvider);
  });

  afterAll(() => service.close());

  const send = (tenant: Tenant, path: string, init: RequestInit): Promise<Response> =>
    fetch(`${service.baseURL}/responses/${path}`.replace(/\/$/, ''), {
      ...init,
      headers: { ...(init.headers as Record<string, string> | undefined), authorization: `Bearer ${KEYS[tenant]}` },
    });

  /** A response of the tenant, with an item of a known id and an open call. */
  const make = async (tenant: Tenant): Promise<string> => {
    provider.reply({ type: 'function_call', name: 'look', callId: 'call_1' });
    const input = [{ id: 'msg_known', role: 'user', content: 'Mine.' }];
    const answer = await send(tenant, '', post({ model: 'scripted', input }));
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { id: string }).id;
  };

  /** All a client can tell about an answer, without the id it asked for, the request's id and the clock. */
  const observe = async (answer: Response, id: string): Promise<object> => {
    const unlike = new Set(['x-request-id', 'date', 'openai-processing-ms']);
    const headers = [...answer.headers].filter(([name]) => !unlike.has(name));
    return { status: answer.status, headers, text: (await answer.text()).replaceAll(id, '<id>') };
  };

  describe.each<[owner: Tenant, stranger: Tenant]>([
    ['alice', 'bob'],
    ['bob', 'alice'],
  ])('a response of %s', (owner, stranger) => {
    it.each(PATHS)('is to the other like one that does not exist: %s', async (_, request) => {
      const foreign = await make(owner);
      const turns = provider.turns.length;
      const missing = 'resp_0123456789abcdef0123456789abcdef';
      const [foreignPath, foreignInit] = request(foreign);
      const [missingPath, missingInit] = request(missing);
      const foreignAnswer = await observe(await send(stranger, foreignPath, foreignInit), foreign);
      const missingAnswer = await observe(await send(stranger, missingPath, missingInit), missing);
      expect(foreignAnswer).toEqual(missingAnswer);
      expect(foreignAnswer).toMatchObject({ status: foreignPath === '' ? 400 : 404 });
      expect(provider.turns).toHaveLength(turns);
      expect((await send(owner, foreign, {})).status).toBe(200);
    });

    it.each(PATHS)('answers its owner: %s', async (name, request) => {
      const id = await make(owner);
      const [path, init] = request(id);
      const answer = await send(owner, path, init);
      const unlike = await observe(answer, id);
      expect(JSON.stringify(unlike)).not.toContain('not found.');
      const refused = [
        'retrieve as a stream',
        'cancel',
        'continue',
        'continue with a stream',
        'continue with an item of it',
      ];
      expect(answer.status).toBe(refused.includes(name) ? 400 : 200);
    });
  });

  it('has the same model list for everybody', async () => {
    const lists = await Promise.all(
      (['alice', 'bob'] as const).map((tenant) => service.client({ apiKey: KEYS[tenant] }).models.list()),
    );
    expect(lists[0]?.data).toEqual(lists[1]?.data);
  });

  it('does not let one tenant see the context of another by sharing ids', async () => {
    await make('alice');
    const id = await make('bob');
    const answer = await send(
      'bob',
      '',
      continuation(id, false, [{ type: 'function_call_output', call_id: 'call_1', output: '' }]),
    );
    expect(answer.status).toBe(200);
    expect(provider.turns.at(-1)?.context).toHaveLength(3);
  });
});

function post(body: object): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function continuation(id: string, stream: boolean, input: unknown = 'Go on.'): RequestInit {
  return post({ model: 'scripted', input, previous_response_id: id, stream });
}
