import { beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { NotFoundError } from 'openai';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

type Json = Record<string, unknown>;

describe.each(STATES)('stored responses in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let client: OpenAI;

  beforeAll(() => {
    client = service.client();
  });

  const create = (input: OpenAI.Responses.ResponseInput | string, parent: string | null = null): Promise<string> =>
    client.responses.create({ model: 'scripted', input, previous_response_id: parent }).then(({ id }) => id);

  const get = async (path: string): Promise<{ status: number; body: Json }> => {
    const answer = await fetch(`${service.baseURL}/${path}`);
    return { status: answer.status, body: (await answer.json()) as Json };
  };

  it('the SDK retrieves what was created, as often as one likes', async () => {
    const created = await client.responses.create({ model: 'scripted', input: 'Hi', metadata: { team: 'blue' } });
    expect(await client.responses.retrieve(created.id)).toEqual(created);
    expect(await client.responses.retrieve(created.id)).toEqual(created);
  });

  it.each(['resp_0123456789abcdef0123456789abcdef', 'anything', '%00', 'a%2Fb'])(
    'the service knows no response %s',
    async (id) => {
      const message = `Response with id '${decodeURIComponent(id)}' not found.`;
      const error = { message, type: 'invalid_request_error', param: null, code: null };
      for (const path of [`responses/${id}`, `responses/${id}/input_items`]) {
        expect(await get(path)).toEqual({ status: 404, body: { error } });
      }
    },
  );

  it('the service deletes a response once', async () => {
    const id = await create('Hi');
    const deleted = await fetch(`${service.baseURL}/responses/${id}`, { method: 'DELETE' });
    expect(deleted.status).toBe(200);
    expect(await deleted.json()).toEqual({ id, object: 'response', deleted: true });
    await expect(client.responses.delete(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.responses.inputItems.list(id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(create('Again', id)).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
  });

  it('the service keeps the items of a deleted response as context of its descendants', async () => {
    const root = await create('One?');
    const child = await create('Two?', root);
    await client.responses.delete(root);
    const grandchild = await create('Three?', child);
    const context = JSON.stringify(service.provider.turns.at(-1)?.context);
    for (const text of ['One?', 'Two?', 'Three?']) expect(context).toContain(text);
    await client.responses.delete(child);
    await create('Four?', grandchild);
    expect(JSON.stringify(service.provider.turns.at(-1)?.context)).toContain('One?');
    expect(await client.responses.retrieve(grandchild)).toMatchObject({ previous_response_id: child });
  });

  it('the service lists the input items of one request, newest first, with ids', async () => {
    const parent = await create('Before');
    const id = await create(
      ['a', 'b', 'c'].map((content) => ({ role: 'user', content })),
      parent,
    );
    const { body } = await get(`responses/${id}/input_items`);
    const data = body['data'] as readonly Json[];
    expect(data.map(textOf)).toEqual(['c', 'b', 'a']);
    expect(data[0]).toEqual({
      id: expect.stringMatching(/^msg_/) as unknown,
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'c' }],
    });
    expect(body).toMatchObject({
      object: 'list',
      first_id: data[0]?.['id'],
      last_id: data[2]?.['id'],
      has_more: false,
    });
  });

  it.each([
    ['limit=2', ['e', 'd'], true],
    ['limit=5', ['e', 'd', 'c', 'b', 'a'], false],
    ['order=asc&limit=2', ['a', 'b'], true],
    ['order=desc', ['e', 'd', 'c', 'b', 'a'], false],
    ['after=msg_c', ['b', 'a'], false],
    ['after=msg_c&order=asc', ['d', 'e'], false],
    ['after=msg_a', [], false],
    ['after=msg_d&limit=1', ['c'], true],
    ['before=msg_c', ['e', 'd'], false],
    ['before=msg_a&limit=2', ['c', 'b'], true],
    ['before=msg_c&order=asc', ['a', 'b'], false],
    ['before=msg_c&order=asc&limit=1', ['b'], true],
    ['before=msg_e', [], false],
  ])('the service pages input items: %s', async (query, expected, hasMore) => {
    const id = await create(
      ['a', 'b', 'c', 'd', 'e'].map((content) => ({ id: `msg_${content}`, role: 'user', content }) as never),
    );
    const { body } = await get(`responses/${id}/input_items?${query}`);
    const data = body['data'] as readonly Json[];
    expect(data.map(textOf)).toEqual(expected);
    expect(body).toMatchObject({
      has_more: hasMore,
      first_id: data.at(0)?.['id'] ?? null,
      last_id: data.at(-1)?.['id'] ?? null,
    });
  });

  it.each(['asc', 'desc'] as const)('the service lets the SDK walk through all pages (%s)', async (order) => {
    const contents = Array.from({ length: 45 }, (_, number) => `item ${number}`);
    const id = await create(contents.map((content) => ({ role: 'user', content })));
    const items = await Array.fromAsync(client.responses.inputItems.list(id, { limit: 10, order }));
    expect(items.map((item) => textOf(item as unknown as Json))).toEqual(
      order === 'asc' ? contents : contents.toReversed(),
    );
  });

  it('a page shows twenty items unless told otherwise', async () => {
    const id = await create(Array.from({ length: 25 }, (_, number) => ({ role: 'user', content: `${number}` })));
    const page = await client.responses.inputItems.list(id);
    expect(page.data).toHaveLength(20);
    expect(page.has_more).toBe(true);
  });

  it.each([
    ['limit=0', 'limit', 'integer_below_min_value'],
    ['limit=101', 'limit', 'integer_above_max_value'],
    ['limit=abc', 'limit', 'invalid_type'],
    ['limit=1.5', 'limit', 'invalid_type'],
    ['limit=1&limit=2', 'limit', 'invalid_type'],
    ['order=up', 'order', 'invalid_value'],
    ['after=msg_unknown', 'after', 'invalid_value'],
    ['before=msg_unknown', 'before', 'invalid_value'],
    ['before=', 'before', 'string_below_min_length'],
    ['after=msg_a&before=msg_b', 'before', 'mutually_exclusive_parameters'],
    ['include[]=everything', 'include[0]', 'invalid_value'],
  ])('the service refuses input_items?%s', async (query, param, code) => {
    const id = await create('Hi');
    expect(await get(`responses/${id}/input_items?${query}`)).toMatchObject({
      status: 400,
      body: { error: { param, code, type: 'invalid_request_error', message: expect.stringContaining(`'`) as unknown } },
    });
  });

  const includable = ['message.output_text.logprobs', 'reasoning.encrypted_content'];
  const forms = [
    includable.map((value) => `include[]=${value}`).join('&'),
    includable.map((value) => `include%5B%5D=${value}`).join('&'),
    includable.map((value) => `include=${value}`).join('&'),
    `include=${includable.join(',')}`,
  ];

  it.each(forms)('the service takes ?%s', async (query) => {
    const id = await create('Hi');
    for (const path of [`responses/${id}`, `responses/${id}/input_items`]) {
      expect(await get(`${path}?${query}`)).toMatchObject({ status: 200 });
      const refused = await get(`${path}?${query.replace('reasoning.encrypted_content', 'nothing')}`);
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_value', param: 'include[1]' } } });
    }
  });

  it('the service cancels nothing that is not a background response', async () => {
    const id = await create('Hi');
    const error = {
      message: 'Cannot cancel a synchronous response.',
      type: 'invalid_request_error',
      param: null,
      code: null,
    };
    await expect(client.responses.cancel(id)).rejects.toMatchObject({ status: 400, error });
    await expect(client.responses.cancel('resp_unknown')).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.responses.retrieve(id)).resolves.toMatchObject({ status: 'completed' });
  });

  it('the service streams no response again that was not made for it', async () => {
    const id = await create('Hi');
    expect(await get(`responses/${id}?stream=true`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_mode', param: 'stream' } },
    });
    expect(await get(`responses/${id}?stream=perhaps`)).toMatchObject({
      status: 400,
      body: { error: { param: 'stream' } },
    });
    expect(await get(`responses/${id}?stream=false`)).toMatchObject({ status: 200, body: { id } });
  });

  it('the SDK lists and retrieves models', async () => {
    const listed = await Array.fromAsync(client.models.list());
    expect(listed).toEqual([{ id: 'scripted', object: 'model', created: 1_767_225_600, owned_by: 'scripted' }]);
    expect(await client.models.retrieve('scripted')).toEqual(listed[0]);
    expect(await get('models/organisation/name')).toMatchObject({ status: 200, body: { id: 'organisation/name' } });
  });

  it('the service answers all of it under /openai/v1 too, with the same state', async () => {
    const other = service.client({ baseURL: `${service.origin}/openai/v1` });
    const { id } = await other.responses.create({ model: 'scripted', input: 'Hi' });
    expect((await client.responses.retrieve(id)).id).toBe(id);
    expect((await other.responses.retrieve(id)).id).toBe(id);
    expect((await other.responses.inputItems.list(id)).data).toHaveLength(1);
    expect((await Array.fromAsync(other.models.list())).map((model) => model.id)).toEqual(['scripted']);
    expect(
      await other.responses.stream({ model: 'scripted', input: 'Go on', previous_response_id: id }).finalResponse(),
    ).toMatchObject({ previous_response_id: id, status: 'completed' });
    await expect(other.responses.cancel(id)).rejects.toMatchObject({ status: 400 });
    await other.responses.delete(id);
    await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(NotFoundError);
  });
});

function textOf(item: Readonly<Json>): unknown {
  return (item['content'] as readonly Json[])[0]?.['text'];
}
