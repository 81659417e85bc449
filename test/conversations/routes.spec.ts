import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { NotFoundError } from 'openai';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

const MESSAGE = { type: 'message', role: 'user', content: 'Hi' } as const;

describe.each(STATES)('conversations with the official SDK in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let client: OpenAI;
  let id: string;

  beforeAll(() => {
    client = service.client();
  });

  beforeEach(async () => {
    ({ id } = await client.conversations.create({ metadata: { topic: 'travel' } }));
  });

  const say = (text: string) => ({ ...MESSAGE, content: text });
  const add = (...texts: readonly string[]) => client.conversations.items.create(id, { items: texts.map(say) });
  const textOf = (item: unknown): unknown => (item as { content: readonly { text: string }[] }).content[0]?.text;

  it('conversations are created, read, changed and deleted', async () => {
    const { data, request_id: requestId } = await client.conversations.retrieve(id).withResponse();
    expect(requestId).toMatch(/^req_/);
    expect(data).toEqual({
      id: expect.stringMatching(/^conv_[0-9a-f]{32}$/),
      object: 'conversation',
      created_at: expect.any(Number),
      metadata: { topic: 'travel' },
    });
    const changed = { ...data, metadata: { topic: 'food' } };
    expect(await client.conversations.update(id, { metadata: { topic: 'food' } })).toEqual(changed);
    expect(await client.conversations.retrieve(id)).toEqual(changed);
    expect(await client.conversations.update(id, { metadata: null })).toEqual({ ...data, metadata: {} });
    expect(await client.conversations.delete(id)).toEqual({ id, object: 'conversation.deleted', deleted: true });
  });

  it('conversations may be created without anything, or with items', async () => {
    expect(await client.conversations.create()).toMatchObject({ object: 'conversation', metadata: {} });
    expect((await service.api.send('POST', 'conversations')).status).toBe(200);
    const full = await client.conversations.create({ items: [say('One'), say('Two')] });
    const { data } = await client.conversations.items.list(full.id, { order: 'asc' });
    expect(data.map(textOf)).toEqual(['One', 'Two']);
  });

  it('conversations take items, which are answered and shown in stored form', async () => {
    const created = await client.conversations.items.create(id, {
      items: [
        { role: 'user', content: 'Look it up.' },
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'found', id: 'fco_mine' },
      ],
      include: ['reasoning.encrypted_content'],
    });
    expect(created).toMatchObject({
      object: 'list',
      data: [
        { type: 'message', id: expect.stringMatching(/^msg_/), status: 'completed', content: [{ type: 'input_text' }] },
        { type: 'function_call', id: expect.stringMatching(/^fc_/) },
        { type: 'function_call_output', id: 'fco_mine', output: 'found' },
      ],
      last_id: 'fco_mine',
      has_more: false,
    });
    const { data } = await client.conversations.items.list(id, {
      order: 'asc',
      include: ['reasoning.encrypted_content'],
    });
    expect(data).toEqual(created.data);
    for (const item of created.data) {
      expect(await client.conversations.items.retrieve(item.id ?? '', { conversation_id: id })).toEqual(item);
    }
  });

  it('conversations list their items in pages, newest first unless asked otherwise', async () => {
    await add(...Array.from({ length: 20 }, (_, index) => `${index}`));
    await add('20', '21', '22');
    const names = Array.from({ length: 23 }, (_, index) => `${index}`);
    const page = await client.conversations.items.list(id);
    expect(page.data.map(textOf)).toEqual(names.slice(3).reverse());
    expect(page).toMatchObject({ has_more: true, last_id: page.data.at(-1)?.id });
    for (const order of ['asc', 'desc'] as const) {
      const all = await Array.fromAsync(client.conversations.items.list(id, { order, limit: 7 }));
      expect(all.map(textOf)).toEqual(order === 'asc' ? names : names.toReversed());
    }
    const empty = await client.conversations.create();
    expect((await service.api.get(`conversations/${empty.id}/items`)).body).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('conversations lose deleted items only', async () => {
    const { data } = await add('One', 'Two', 'Three');
    const [, second] = data;
    const conversation = await client.conversations.retrieve(id);
    const itemId = second?.id ?? '';
    expect(await client.conversations.items.delete(itemId, { conversation_id: id })).toEqual(conversation);
    const left = await client.conversations.items.list(id, { order: 'asc' });
    expect(left.data.map(textOf)).toEqual(['One', 'Three']);
    await expect(client.conversations.items.delete(itemId, { conversation_id: id })).rejects.toThrow(NotFoundError);
    // Its id is free again.
    await client.conversations.items.create(id, { items: [{ ...say('Again'), id: itemId } as never] });
  });

  it('conversations resolve references to stored items', async () => {
    const { output } = await client.responses.create({ model: 'scripted', input: 'Hi' });
    const reference = { type: 'item_reference', id: output[0]?.id ?? '' } as const;
    const { data } = await client.conversations.items.create(id, { items: [reference] });
    expect(data).toEqual(output);
    const other = await client.conversations.create({ items: [reference] });
    expect((await client.conversations.items.list(other.id)).data).toEqual(output);
  });

  it.each(['v1', 'openai/v1'])('the routes of conversations are under /%s', async (prefix) => {
    const { status } = await fetch(`${service.origin}/${prefix}/conversations/${id}/items`);
    expect(status).toBe(200);
  });

  describe('that do not exist', () => {
    const missing = 'conv_0123456789abcdef0123456789abcdef';
    const routes: readonly (readonly [what: string, ask: (name: string) => Promise<unknown>])[] = [
      ['retrieve', (name) => client.conversations.retrieve(name)],
      ['update', (name) => client.conversations.update(name, { metadata: {} })],
      ['delete', (name) => client.conversations.delete(name)],
      ['items.create', (name) => client.conversations.items.create(name, { items: [MESSAGE] })],
      ['items.list', (name) => client.conversations.items.list(name)],
      ['items.retrieve', (name) => client.conversations.items.retrieve('msg_1', { conversation_id: name })],
      ['items.delete', (name) => client.conversations.items.delete('msg_1', { conversation_id: name })],
      ['a turn', (name) => client.responses.create({ model: 'scripted', input: 'Hi', conversation: name })],
    ];

    const refusal = (name: string) => ({
      status: 404,
      type: 'invalid_request_error',
      code: null,
      param: null,
      error: { message: `Conversation with id '${name}' not found.` },
    });

    it.each(routes)('%s of a conversation that does not exist is 404', async (_, ask) => {
      await expect(ask(missing)).rejects.toMatchObject(refusal(missing));
      await client.conversations.delete(id);
      await expect(ask(id)).rejects.toMatchObject(refusal(id));
    });
  });

  it('conversations do not find items that are not theirs', async () => {
    const other = await client.conversations.create({ items: [MESSAGE] });
    const { data } = await client.conversations.items.list(other.id);
    for (const itemId of ['msg_1', data[0]?.id ?? '']) {
      const refusal = {
        status: 404,
        code: null,
        param: null,
        error: { message: `Item with id '${itemId}' not found.` },
      };
      const of = { conversation_id: id };
      await expect(client.conversations.items.retrieve(itemId, of)).rejects.toMatchObject(refusal);
      await expect(client.conversations.items.delete(itemId, of)).rejects.toMatchObject(refusal);
    }
  });
});
