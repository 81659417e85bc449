import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { type ApiAnswer, ApiClient } from '../support/api-client.js';
import { useService } from '../support/describe-service.js';
import { parentNotFound, SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const KEYS = { alice: 'sk-alice', bob: 'sk-bob' } as const;
type Tenant = keyof typeof KEYS;

/** Every request about a session by its name, which may as well hold the id of a response. */
const ABOUT: readonly (readonly [
  what: string,
  ask: (api: ApiClient, name: string, id: string) => Promise<ApiAnswer>,
])[] = [
  ['its responses', (api, name) => api.get(`sessions/${name}/responses`)],
  ['its responses behind one', (api, name, id) => api.get(`sessions/${name}/responses?after=${id}`)],
  ['its responses in a list', (api, name) => api.get(`responses?session_id=${name}`)],
  ['its responses in a list, by header', (api, name) => api.with({ 'x-session-id': name }).get('responses')],
  ['a response of it', (api, name, id) => api.with({ 'x-session-id': name }).get(`responses/${id}`)],
  ['the tree of a response of it', (api, name, id) => api.with({ 'x-session-id': name }).get(`responses/${id}/tree`)],
  ['a fork of it', (api, name) => api.post(`sessions/${name}/fork`, { target_session_id: 'fork' })],
  [
    'a fork up to a response of it',
    (api, name, id) => api.post(`sessions/${name}/fork`, { target_session_id: 'part', up_to_response_id: id }),
  ],
  [
    'a continuation in it',
    (api, name, id) =>
      api
        .with({ 'x-session-id': name })
        .post('responses', { model: 'scripted', input: 'On', previous_response_id: id }),
  ],
  ['its deletion', (api, name) => api.delete(`sessions/${name}`)],
];

describe.each(STATES)('sessions of two tenants in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: {
        API_KEYS: `alice:${KEYS.alice},bob:${KEYS.bob}`,
        SESSION_MAX_RESPONSES: 3,
        SESSION_LOCK_TIMEOUT_MS: 0,
      },
    }),
  );
  let clients: Readonly<Record<Tenant, ApiClient>>;
  let count = 0;

  beforeAll(() => {
    const clientOf = (tenant: Tenant): ApiClient =>
      new ApiClient(service.baseURL, { authorization: `Bearer ${KEYS[tenant]}` });
    clients = { alice: clientOf('alice'), bob: clientOf('bob') };
  });

  const freshName = (): string => `session-${(count += 1)}`;
  const make = async (tenant: Tenant, name: string): Promise<string> =>
    (await clients[tenant].with({ 'x-session-id': name }).create({})).id;
  const membersOf = (tenant: Tenant, name: string): Promise<readonly string[]> =>
    clients[tenant].idsOf(`sessions/${name}/responses?order=asc`);

  /** All a client can tell about an answer, without the names it asked with and the id of the request. */
  const observe = ({ status, headers, body }: ApiAnswer, ...names: readonly string[]): object => {
    const unlike = new Set(['x-request-id', 'date', 'openai-processing-ms', 'content-length']);
    const text = names.reduce((rest, name, index) => rest.replaceAll(name, `<${index}>`), JSON.stringify(body));
    return { status, headers: [...headers].filter(([name]) => !unlike.has(name)), text };
  };

  describe.each<[tenant: Tenant, stranger: Tenant]>([
    ['alice', 'bob'],
    ['bob', 'alice'],
  ])('one of %s', (tenant, stranger) => {
    it.each(ABOUT)('the session of a tenant is to another tenant like one that does not exist: %s', async (_, ask) => {
      const name = freshName();
      const id = await make(tenant, name);
      const asked = service.provider.turns.length;
      const foreign = observe(await ask(clients[stranger], name, id), name, id);
      const [noName, noId] = [freshName(), 'resp_0123456789abcdef0123456789abcdef'];
      const missing = observe(await ask(clients[stranger], noName, noId), noName, noId);
      expect(foreign).toEqual(missing);
      expect(JSON.stringify(foreign)).not.toContain(id);
      expect(service.provider.turns).toHaveLength(asked);
      expect(await membersOf(tenant, name)).toEqual([id]);
    });

    it.each(ABOUT)('the session of a tenant is not that of another tenant with the same name: %s', async (_, ask) => {
      const name = freshName();
      const id = await make(tenant, name);
      const own = await make(stranger, name);
      const answer = await ask(clients[stranger], name, id);
      expect(JSON.stringify(answer.body).replaceAll(`'${id}'`, '')).not.toContain(id);
      expect(await membersOf(tenant, name)).toEqual([id]);
      expect((await clients[tenant].get(`responses/${id}`)).status).toBe(200);
      const seen = await ask(clients[tenant], name, own);
      expect(JSON.stringify(seen.body).replaceAll(`'${own}'`, '')).not.toContain(own);
      expect((await clients[stranger].get(`responses/${own}`)).status).toBe(
        answer.body['deleted'] === true ? 404 : 200,
      );
    });
  });

  it('sessions of two tenants with one name are two', async () => {
    const name = freshName();
    const [ofAlice, ofBob] = [await make('alice', name), await make('bob', name)];
    expect([await membersOf('alice', name), await membersOf('bob', name)]).toEqual([[ofAlice], [ofBob]]);
    await clients.alice.delete(`sessions/${name}`);
    expect(await membersOf('bob', name)).toEqual([ofBob]);
    expect((await clients.alice.get(`sessions/${name}/responses`)).status).toBe(404);
  });

  it('the sessions of two tenants do not fill each other', async () => {
    const name = freshName();
    for (let response = 0; response < 3; response += 1) await make('alice', name);
    await expect(make('alice', name)).rejects.toMatchObject({ status: 400 });
    await make('bob', name);
  });

  it('the sessions of two tenants do not lock each other', async () => {
    const name = freshName();
    const held = new HeldTurns(service.provider).hold();
    const running = clients.alice.with({ 'x-session-id': name }).create({ input: 'slow' });
    await held.whenBegun(1);
    await make('bob', name);
    await expect(make('alice', name)).rejects.toMatchObject({ status: 409 });
    held.letGo('slow');
    await running;
  });

  it('the sessions of two tenants are apart on sockets too', async () => {
    const name = freshName();
    const id = await make('alice', name);
    await make('bob', name);
    const headers = { authorization: `Bearer ${KEYS.bob}`, 'x-session-id': name };
    await using bob = await SocketClient.open(service, { headers });
    for (const more of [{}, { session_id: name }, { stream_id: 'a' }]) {
      const refusal = await bob.refusal({ input: 'On', previous_response_id: id, ...more });
      expect(refusal).toMatchObject(parentNotFound(id));
    }
    const { response } = await bob.turn({ input: 'Mine' });
    expect(await membersOf('bob', name)).toContain(response.id);
    expect(await membersOf('alice', name)).toEqual([id]);
  });

  it('the sessions of a tenant never show in the lists of another', async () => {
    const name = freshName();
    const metadata = { shared: name };
    const create = async (tenant: Tenant): Promise<string> => (await clients[tenant].create({ metadata })).id;
    const ofAlice = [await create('alice'), await create('alice')];
    const ofBob = [await create('bob')];
    for (const [tenant, ids] of [
      ['alice', ofAlice],
      ['bob', ofBob],
    ] as const) {
      expect(await clients[tenant].idsOf(`responses?order=asc&metadata[shared]=${name}`)).toEqual(ids);
    }
    for (const cursor of ['after', 'before']) {
      const foreign = await clients.bob.get(`responses?${cursor}=${ofAlice[0] ?? ''}`);
      expect(foreign).toMatchObject({ status: 400, body: { error: { code: 'invalid_value', param: cursor } } });
    }
    const everything = async (tenant: Tenant): Promise<readonly string[]> => {
      const ids: string[] = [];
      for (let more = true; more;) {
        const { body } = await clients[tenant].get(
          `responses?limit=100${ids.length > 0 ? `&after=${ids.at(-1) ?? ''}` : ''}`,
        );
        ids.push(...(body['data'] as readonly { readonly id: string }[]).map(({ id }) => id));
        more = body['has_more'] as boolean;
      }
      return ids;
    };
    const [alices, bobs] = [await everything('alice'), new Set(await everything('bob'))];
    expect(alices.filter((id) => bobs.has(id))).toEqual([]);
    expect(alices).toEqual(expect.arrayContaining(ofAlice));
  });
});
