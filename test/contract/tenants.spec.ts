import { createHash } from 'node:crypto';

import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const KEYS = { alice: 'sk-alice', bob: 'sk-bob' } as const;
type Tenant = keyof typeof KEYS;

type Request = readonly [path: string, init: RequestInit];

/** Every way to reach a response, or the session that began with it, by its id; and how a stranger is refused. */
const PATHS: readonly (readonly [name: string, request: (id: string) => Request, refusal: number])[] = [
  ['retrieve', (id) => [`responses/${id}`, {}], 404],
  ['retrieve with include', (id) => [`responses/${id}?include[]=reasoning.encrypted_content`, {}], 404],
  ['retrieve as a stream', (id) => [`responses/${id}?stream=true&starting_after=3`, {}], 404],
  ['retrieve in its session', (id) => [`responses/${id}`, { headers: { 'x-session-id': id } }], 404],
  ['cancel', (id) => [`responses/${id}/cancel`, { method: 'POST' }], 404],
  ['input_items', (id) => [`responses/${id}/input_items`, {}], 404],
  ['input_items after an item', (id) => [`responses/${id}/input_items?after=msg_known&limit=1`, {}], 404],
  ['children', (id) => [`responses/${id}/children`, {}], 404],
  ['siblings', (id) => [`responses/${id}/siblings?limit=1`, {}], 404],
  ['leaves', (id) => [`responses/${id}/leaves?order=asc`, {}], 404],
  ['tree', (id) => [`responses/${id}/tree?depth=1`, {}], 404],
  ['list behind it', (id) => [`responses?after=${id}`, {}], 400],
  ['list in front of it', (id) => [`responses?before=${id}&order=asc`, {}], 400],
  ['list its session', (id) => [`sessions/${id}/responses`, {}], 404],
  ['fork its session', (id) => [`sessions/${id}/fork`, post({ target_session_id: `fork_of_${id}` })], 404],
  [
    'fork its session up to it',
    (id) => [`sessions/${id}/fork`, post({ target_session_id: `part_of_${id}`, up_to_response_id: id })],
    404,
  ],
  ['continue', (id) => ['responses', continuation(id, false)], 400],
  ['continue with a stream', (id) => ['responses', continuation(id, true)], 400],
  ['continue in its session', (id) => ['responses', within(id, continuation(id, false))], 400],
  [
    'continue with an output',
    (id) => ['responses', continuation(id, false, [{ type: 'function_call_output', call_id: 'call_1', output: '' }])],
    400,
  ],
  [
    'continue with an item of it',
    (id) => ['responses', continuation(id, true, [{ id: 'msg_known', role: 'user', content: 'x' }])],
    400,
  ],
  [
    'count what continues it',
    (id) => [
      'responses/input_tokens',
      continuation(id, false, [{ type: 'function_call_output', call_id: 'call_1', output: '' }]),
    ],
    400,
  ],
  ['delete its session', (id) => [`sessions/${id}`, { method: 'DELETE' }], 404],
  ['delete', (id) => [`responses/${id}`, { method: 'DELETE' }], 404],
  ['delete all that continues it', (id) => [`responses/${id}?cascade=true`, { method: 'DELETE' }], 404],
];

/** What is refused to its tenant too, for another reason. */
const ALWAYS_REFUSED = new Set([
  'retrieve as a stream',
  'cancel',
  'continue',
  'continue with a stream',
  'continue in its session',
  'continue with an item of it',
]);

describe.each(STATES)('two tenants in $state', ({ open }) => {
  const service = useService(async () => {
    const digest = createHash('sha256').update(KEYS.bob).digest('hex');
    return startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { API_KEYS: `alice:${KEYS.alice},bob:sha256:${digest}` },
    });
  });

  const send = (tenant: Tenant, path: string, init: RequestInit): Promise<Response> =>
    fetch(`${service.baseURL}/${path}`, {
      ...init,
      headers: { ...(init.headers as Record<string, string> | undefined), authorization: `Bearer ${KEYS[tenant]}` },
    });

  /** A response of the tenant, with an item of a known id and an open call. */
  const make = async (tenant: Tenant): Promise<string> => {
    service.provider.reply({ type: 'function_call', name: 'look', callId: 'call_1' });
    const input = [{ id: 'msg_known', role: 'user', content: 'Mine.' }];
    const answer = await send(tenant, 'responses', post({ model: 'scripted', input }));
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { id: string }).id;
  };

  /** A background response of the tenant that has a stream. */
  const makeInBackground = async (tenant: Tenant): Promise<string> => {
    const turn = post({ model: 'scripted', input: 'Mine.', background: true, stream: true });
    const events = await (await send(tenant, 'responses', turn)).text();
    return /resp_\w+/.exec(events)?.[0] ?? '';
  };

  /** All a client can tell about an answer, without the id it asked for, the request's id and the clock. */
  const observe = async (answer: Response, id: string): Promise<object> => {
    const unlike = new Set(['x-request-id', 'date', 'openai-processing-ms']);
    const headers = [...answer.headers].filter(([name]) => !unlike.has(name));
    return { status: answer.status, headers, text: (await answer.text()).replaceAll(id, '<id>') };
  };

  describe.each<[tenant: Tenant, stranger: Tenant]>([
    ['alice', 'bob'],
    ['bob', 'alice'],
  ])('a response of %s', (tenant, stranger) => {
    it.each(PATHS)(
      'the response of a tenant is to another like one that does not exist: %s',
      async (_, request, refusal) => {
        const foreign = await make(tenant);
        const turns = service.provider.turns.length;
        const missing = 'resp_0123456789abcdef0123456789abcdef';
        const [foreignPath, foreignInit] = request(foreign);
        const [missingPath, missingInit] = request(missing);
        const foreignAnswer = await observe(await send(stranger, foreignPath, foreignInit), foreign);
        const missingAnswer = await observe(await send(stranger, missingPath, missingInit), missing);
        expect(foreignAnswer).toEqual(missingAnswer);
        expect(foreignAnswer).toMatchObject({ status: refusal });
        expect(service.provider.turns).toHaveLength(turns);
        expect((await send(tenant, `responses/${foreign}`, {})).status).toBe(200);
      },
    );

    it.each(PATHS)('the response of a tenant answers that tenant: %s', async (name, request) => {
      const id = await make(tenant);
      const [path, init] = request(id);
      const answer = await send(tenant, path, init);
      const unlike = await observe(answer, id);
      expect(JSON.stringify(unlike)).not.toContain('not found.');
      expect(answer.status).toBe(ALWAYS_REFUSED.has(name) ? 400 : 200);
    });
  });

  it.each([
    ['its stream', (id: string): Request => [`responses/${id}?stream=true`, {}]],
    ['its stream after an event', (id: string): Request => [`responses/${id}?stream=true&starting_after=3`, {}]],
    ['its cancellation', (id: string): Request => [`responses/${id}/cancel`, { method: 'POST' }]],
    ['its deletion', (id: string): Request => [`responses/${id}`, { method: 'DELETE' }]],
  ])('the service keeps a background response of one tenant from the other: %s', async (_, request) => {
    const foreign = await makeInBackground('alice');
    const missing = 'resp_0123456789abcdef0123456789abcdef';
    const foreignAnswer = await observe(await send('bob', ...request(foreign)), foreign);
    expect(foreignAnswer).toEqual(await observe(await send('bob', ...request(missing)), missing));
    expect(foreignAnswer).toMatchObject({ status: 404 });
    expect((await send('alice', ...request(foreign))).status).toBe(200);
  });

  it('the model list is the same for everybody', async () => {
    const lists = await Promise.all(
      (['alice', 'bob'] as const).map((tenant) => service.client({ apiKey: KEYS[tenant] }).models.list()),
    );
    expect(lists[0]?.data).toEqual(lists[1]?.data);
  });

  it('two tenants who share ids do not see the context of each other', async () => {
    await make('alice');
    const id = await make('bob');
    const answer = await send(
      'bob',
      'responses',
      continuation(id, false, [{ type: 'function_call_output', call_id: 'call_1', output: '' }]),
    );
    expect(answer.status).toBe(200);
    expect(service.provider.turns.at(-1)?.context).toHaveLength(3);
  });
});

function post(body: object): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function continuation(id: string, stream: boolean, input: unknown = 'Go on.'): RequestInit {
  return post({ model: 'scripted', input, previous_response_id: id, stream });
}

function within(sessionId: string, init: RequestInit): RequestInit {
  return { ...init, headers: { ...(init.headers as Record<string, string>), 'x-session-id': sessionId } };
}
