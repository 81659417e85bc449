import { beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { type ApiAnswer, ApiClient } from '../support/api-client.js';
import { TestConversation } from './test-conversation.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const KEYS = { alice: 'sk-alice', bob: 'sk-bob' } as const;
type Tenant = keyof typeof KEYS;

const ITEMS = { items: [{ role: 'user', content: 'Mine' }] };
const TURN = { model: 'scripted', input: 'Hi' };

/** Every request about a conversation and an item of it. */
const ABOUT: readonly (readonly [
  what: string,
  ask: (api: ApiClient, id: string, itemId: string) => Promise<ApiAnswer>,
])[] = [
  ['itself', (api, id) => api.get(`conversations/${id}`)],
  ['a change', (api, id) => api.post(`conversations/${id}`, { metadata: { a: 'b' } })],
  ['its deletion', (api, id) => api.delete(`conversations/${id}`)],
  ['its items', (api, id) => api.get(`conversations/${id}/items`)],
  ['its items behind one', (api, id, itemId) => api.get(`conversations/${id}/items?after=${itemId}`)],
  ['new items', (api, id) => api.post(`conversations/${id}/items`, ITEMS)],
  ['an item', (api, id, itemId) => api.get(`conversations/${id}/items/${itemId}`)],
  ['the deletion of an item', (api, id, itemId) => api.delete(`conversations/${id}/items/${itemId}`)],
  ['a turn', (api, id) => api.post('responses', { ...TURN, conversation: id })],
  ['a turn in the background', (api, id) => api.post('responses', { ...TURN, conversation: id, background: true })],
  ['its responses', (api, id) => api.get(`sessions/${id}/responses`)],
];

describe.each(STATES)('conversations of two tenants in $state', ({ open }) => {
  const service = useService(() =>
    startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: { API_KEYS: `alice:${KEYS.alice},bob:${KEYS.bob}` },
    }),
  );
  let clients: Readonly<Record<Tenant, ApiClient>>;

  beforeAll(() => {
    const clientOf = (tenant: Tenant): ApiClient =>
      new ApiClient(service.baseURL, { authorization: `Bearer ${KEYS[tenant]}` });
    clients = { alice: clientOf('alice'), bob: clientOf('bob') };
  });

  describe.each<[tenant: Tenant, stranger: Tenant]>([
    ['alice', 'bob'],
    ['bob', 'alice'],
  ])('one of %s', (tenant, stranger) => {
    it.each(ABOUT)(
      'the conversation of a tenant is to another tenant like one that does not exist: %s',
      async (_, ask) => {
        const conversation = await TestConversation.create(clients[tenant], 'Secret');
        await clients[tenant].create({ conversation: conversation.id });
        const items = await conversation.items();
        const [id, itemId] = [conversation.id, items[0]?.id ?? ''];
        const asked = service.provider.turns.length;
        const observe = ({ status, body }: ApiAnswer, ...names: readonly string[]): object => ({
          status,
          text: names.reduce((rest, name, index) => rest.replaceAll(name, `<${index}>`), JSON.stringify(body)),
        });
        const foreign = observe(await ask(clients[stranger], id, itemId), id, itemId);
        const nothing = ['conv_0123456789abcdef0123456789abcdef', 'msg_0123456789abcdef0123456789abcdef'] as const;
        expect(foreign).toEqual(observe(await ask(clients[stranger], ...nothing), ...nothing));
        expect(foreign).toMatchObject({ status: 404 });
        expect(service.provider.turns).toHaveLength(asked);
        expect(await conversation.items()).toEqual(items);
        expect((await clients[tenant].get(conversation.path)).body).toMatchObject({ metadata: {} });
      },
    );
  });

  it('conversations need a key', async () => {
    const stranger = new ApiClient(service.baseURL);
    for (const [, ask] of ABOUT) expect((await ask(stranger, 'conv_1', 'msg_1')).status).toBe(401);
    expect((await stranger.post('conversations', {})).status).toBe(401);
  });

  it('the conversations of two tenants are apart on sockets too', async () => {
    const { id } = await TestConversation.create(clients.alice);
    await using socket = await SocketClient.open(service, { headers: { authorization: `Bearer ${KEYS.bob}` } });
    expect(await socket.refusal({ ...TURN, conversation: id })).toMatchObject({ status: 404 });
  });
});
