import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { CursorPage } from 'openai/pagination';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { type Replicas, SHARED_STATES, startReplicas, startServiceIn, STATES } from '../support/state-backends.js';

type Listed = { readonly id: string };

/** A list that the SDK has no method for, through its own pager. */
function pagesOf(client: OpenAI, path: string, query: object): AsyncIterable<Listed> {
  return client.getAPIList<Listed, CursorPage<Listed>>(path, CursorPage, { query: { limit: 2, ...query } });
}

/** The ids that a pager gives to who deletes each before it takes the next. */
async function consume(pages: AsyncIterable<Listed>, remove: (id: string) => Promise<unknown>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of pages) {
    ids.push(id);
    await remove(id);
  }
  return ids;
}

/** Five responses that continue one, in a session. */
async function createFamily(client: OpenAI, session: string): Promise<{ root: string; children: readonly string[] }> {
  const create = async (parent: string | null): Promise<string> => {
    const headers = { 'x-session-id': session };
    const body = { model: 'scripted', input: 'Hi', previous_response_id: parent };
    return (await client.responses.create(body, { headers })).id;
  };
  const root = await create(null);
  const children: string[] = [];
  while (children.length < 5) children.push(await create(root));
  return { root, children };
}

async function createConversation(client: OpenAI): Promise<{ id: string; items: readonly string[] }> {
  const items = [1, 2, 3, 4, 5].map((number) => ({ type: 'message', role: 'user', content: `${number}` }) as const);
  const { id } = await client.conversations.create({ items });
  const { data } = await client.conversations.items.list(id, { order: 'asc' });
  return { id, items: data.map((item) => String(item.id)) };
}

describe.each(STATES)('the pager of the SDK, while each object that it gives is deleted, in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let client: OpenAI;

  beforeAll(() => {
    client = service.client();
  });

  describe.each(['asc', 'desc'] as const)('in the order %s', (order) => {
    const inOrder = (ids: readonly string[]): readonly string[] => (order === 'asc' ? ids : ids.toReversed());
    const remove = (id: string): Promise<unknown> => client.responses.delete(id);

    it('the pager of the SDK gives every item of a conversation once', async () => {
      const { id, items } = await createConversation(client);
      const pages = client.conversations.items.list(id, { order, limit: 2 }) as AsyncIterable<Listed>;
      const removeItem = (item: string): Promise<unknown> =>
        client.conversations.items.delete(item, { conversation_id: id });
      expect(await consume(pages, removeItem)).toEqual(inOrder(items));
      expect((await client.conversations.items.list(id)).data).toEqual([]);
    });

    it('the pager of the SDK gives every response of a session once', async () => {
      const { root, children } = await createFamily(client, `session-${order}`);
      const pages = pagesOf(client, `/sessions/session-${order}/responses`, { order });
      expect(await consume(pages, remove)).toEqual(inOrder([root, ...children]));
    });

    it.each(['children', 'leaves'])('the pager of the SDK gives all %s of a response once', async (list) => {
      const { root, children } = await createFamily(client, `${list}-${order}`);
      const pages = pagesOf(client, `/responses/${root}/${list}`, { order });
      const seen = await consume(pages, remove);
      // Without its continuations, the response is a leaf.
      expect(seen.filter((id) => id !== root)).toEqual(inOrder(children));
    });

    it('the pager of the SDK gives every response that a filter shows once', async () => {
      const { root, children } = await createFamily(client, `all-${order}`);
      const pages = pagesOf(client, '/responses', { order, session_id: `all-${order}`, status: 'completed' });
      expect(await consume(pages, remove)).toEqual(inOrder([root, ...children]));
    });
  });

  it('a deleted object is no cursor in other lists, nor in those of other tenants', async () => {
    const family = await createFamily(client, 'first');
    const other = await createFamily(client, 'second');
    const gone = String(family.children[2]);
    await client.responses.delete(gone);
    for (const path of [
      'sessions/second/responses',
      `responses/${other.root}/children`,
      `responses?session_id=second`,
    ]) {
      const { status, body } = await service.api.get(`${path}${path.includes('?') ? '&' : '?'}after=${gone}`);
      expect(status).toBe(400);
      const message = `Invalid 'after': there is nothing with id '${gone}' in this list.`;
      expect(body).toEqual({
        error: { type: 'invalid_request_error', code: 'invalid_value', param: 'after', message },
      });
    }
  });

  it('the pager of the SDK ends where everything behind its cursor has gone with its session', async () => {
    const { root } = await createFamily(client, 'ended');
    await service.api.delete('sessions/ended');
    const { status, body } = await service.api.get(`sessions/ended/responses?after=${root}`);
    expect({ status, body }).toMatchObject({ status: 200, body: { data: [], has_more: false } });
    expect((await service.api.get('sessions/ended/responses')).status).toBe(404);
    expect((await service.api.get('sessions/ended/responses?after=resp_unknown')).status).toBe(404);
  });
});

describe.each(SHARED_STATES)('the pager of the SDK on one replica over $state', ({ open }) => {
  let replicas: Replicas;

  beforeAll(async () => {
    replicas = await startReplicas({ providers: [ScriptedProvider] }, undefined, open);
  });
  afterAll(() => replicas.close());

  it('the pager of the SDK gives everything once while another replica deletes it', async () => {
    const [client, other] = [replicas.one.client(), replicas.two.client()];
    const { root, children } = await createFamily(client, 'shared');
    const responses = pagesOf(client, '/sessions/shared/responses', { order: 'asc' });
    expect(await consume(responses, (id) => other.responses.delete(id))).toEqual([root, ...children]);
    const { id, items } = await createConversation(client);
    const pages = client.conversations.items.list(id, { order: 'asc', limit: 2 }) as AsyncIterable<Listed>;
    const removeItem = (item: string): Promise<unknown> =>
      other.conversations.items.delete(item, { conversation_id: id });
    expect(await consume(pages, removeItem)).toEqual(items);
  });
});
