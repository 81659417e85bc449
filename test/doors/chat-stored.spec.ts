import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { describeService } from '../support/describe-service.js';

const ASK = { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] };

type Completion = OpenAI.ChatCompletion;

describe('stored completions', () => {
  describeService('by request', { providers: [ScriptedProvider] }, (service) => {
    it('stored completions can be read and deleted, others are not there', async () => {
      const client = service.client();
      const created = await client.chat.completions.create({ ...ASK, store: true, metadata: { a: 'b' } } as never);
      const { id } = created as unknown as Completion;
      expect(await client.chat.completions.retrieve(id)).toEqual({ ...created });
      expect((await service.api.get(`responses/${id.replace('chatcmpl-', 'resp_')}`)).status).toBe(200);
      expect(await client.chat.completions.delete(id)).toEqual({
        id,
        object: 'chat.completion.deleted',
        deleted: true,
      });
      const { status, body } = await service.api.get(`chat/completions/${id}`);
      expect([status, body]).toMatchObject([404, { error: { message: `Completion with id '${id}' not found.` } }]);
      const { body: passing } = await service.api.post('chat/completions', ASK);
      expect((await service.api.get(`chat/completions/${String(passing['id'])}`)).status).toBe(404);
    });

    it('stored completions have ended at a stop sequence as their clients have read it', async () => {
      for (const stream of [false, true]) {
        service.provider.reply({ type: 'text', delta: 'one END' });
        const request = { ...ASK, stop: 'END', store: true, stream };
        const answer = await fetch(`${service.baseURL}/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(request),
        });
        const id = /chatcmpl-\w+/.exec(await answer.text())?.[0] ?? '';
        const { body } = await service.api.get(`chat/completions/${id}`);
        expect(body).toMatchObject({ id, choices: [{ finish_reason: 'stop' }] });
      }
    });

    it('stored completions are not those responses that have no answer, nor anything by another kind of id', async () => {
      const running = Promise.withResolvers<undefined>();
      service.provider
        .play(async function* () {
          await running.promise;
          yield { type: 'text', delta: 'late' };
          yield { type: 'finish', reason: 'stop' };
        })
        .play(async function* () {
          yield { type: 'text', delta: 'Hel' };
          throw new Error('broken');
        });
      const statusesOf = async (id: string): Promise<readonly number[]> => [
        (await service.api.get(`chat/completions/${id}`)).status,
        (await service.api.delete(`chat/completions/${id}`)).status,
      ];
      const { id: late } = await createInBackground(service);
      try {
        expect(await statusesOf(late.replace('resp_', 'chatcmpl-'))).toEqual([404, 404]);
      } finally {
        running.resolve(undefined);
      }
      expect(await whenEnded(service, late)).toMatchObject({ status: 'completed' });
      const { id: failed } = await createInBackground(service);
      expect(await whenEnded(service, failed)).toMatchObject({ status: 'failed' });
      expect(await statusesOf(failed.replace('resp_', 'chatcmpl-'))).toEqual([404, 404]);
      expect(await statusesOf(late)).toEqual([404, 404]);
      expect(await statusesOf(late.replace('resp_', 'chatcmpl-'))).toEqual([200, 200]);
    });

    it('stored completions get other metadata, by which they and their responses are found', async () => {
      const { completions } = service.client().chat;
      const { body } = await service.api.post('chat/completions', { ...ASK, store: true, metadata: { a: 'b' } });
      const id = String(body['id']);
      const updated = await completions.update(id, { metadata: { topic: 'sea' } });
      expect(updated).toEqual({ ...(await completions.retrieve(id)), metadata: { topic: 'sea' } });
      const listed = await completions.list({ metadata: { topic: 'sea' } } as never);
      expect(listed.data.map((each) => each.id)).toEqual([id]);
      expect((await completions.list({ metadata: { a: 'b' } } as never)).data).toEqual([]);
      const response = await service.client().responses.retrieve(id.replace('chatcmpl-', 'resp_'));
      expect(response.metadata).toEqual({ topic: 'sea' });
      expect(await completions.update(id, { metadata: null })).not.toHaveProperty('metadata');
    });

    it.each([
      [{}, 'metadata'],
      [{ metadata: { a: 1 } }, 'metadata.a'],
      [{ metadata: {}, metadat: {} }, 'metadat'],
    ])('stored completions get nothing else: %j', async (change, param) => {
      const { body } = await service.api.post('chat/completions', { ...ASK, store: true });
      const refused = await service.api.post(`chat/completions/${String(body['id'])}`, change);
      expect(refused).toMatchObject({ status: 400, body: { error: { param } } });
      const unknown = await service.api.post('chat/completions/chatcmpl-none', { metadata: {} });
      expect(unknown).toMatchObject({
        status: 404,
        body: { error: { message: expect.stringMatching(/^Completion with id/) } },
      });
    });

    it('stored completions are those of a session, too', async () => {
      const { body } = await service.api.with({ 'x-session-id': 's1' }).post('chat/completions', ASK);
      expect((await service.api.get(`chat/completions/${String(body['id'])}`)).status).toBe(200);
    });
  });

  describeService(
    'of all, or of none',
    { providers: [ScriptedProvider], environment: { DOORS_STORE: 'true' } },
    (service) => {
      it('the storing of completions follows DOORS_STORE where the request does not say', async () => {
        const stored = async (members: object): Promise<number> => {
          const { body } = await service.api.post('chat/completions', { ...ASK, ...members });
          return (await service.api.get(`chat/completions/${String(body['id'])}`)).status;
        };
        expect([await stored({}), await stored({ store: false })]).toEqual([200, 404]);
      });
    },
  );

  describeService('of a closed door', { providers: [ScriptedProvider], environment: { DOORS: 'none' } }, (service) => {
    it('stored completions of a closed door are not there, nor are new ones', async () => {
      expect((await service.api.post('chat/completions', ASK)).status).toBe(404);
    });
  });
});

describeService('the list of completions', { providers: [ScriptedProvider] }, (service) => {
  const failing = async function* (): AsyncGenerator<never> {
    throw new Error('broken');
  };

  /** Stores a completion, and returns its id. */
  async function store(content: string, members: object = {}): Promise<string> {
    const messages = [{ role: 'user', content }];
    const { body } = await service.api.post('chat/completions', { ...ASK, messages, store: true, ...members });
    return String(body['id']);
  }

  /** The ids that the official client finds, page by page. */
  async function idsOf(
    query: OpenAI.ChatCompletionListParams,
    headers: Record<string, string> = {},
  ): Promise<string[]> {
    const ids: string[] = [];
    for await (const { id } of service.client().chat.completions.list(query, { headers })) ids.push(id);
    return ids;
  }

  it('the list of completions has those that are stored, filtered, in either order and in pages, and passes over responses without an answer', async () => {
    const first = await store('one', { metadata: { topic: 'rain', place: 'sea' } });
    // More than are read at first, page by page.
    const failures = 12;
    for (let times = 0; times < failures; times += 1) {
      service.provider.play(failing);
      const { id } = await createInBackground(service);
      expect(await whenEnded(service, id)).toMatchObject({ status: 'failed' });
    }
    const second = await store('two', { metadata: { topic: 'rain' }, model: 'other' });
    const third = await store('three');
    await store('unstored', { store: false });
    expect(await idsOf({})).toEqual([first, second, third]);
    expect(await idsOf({ limit: 1 })).toEqual([first, second, third]);
    expect(await idsOf({ order: 'desc', limit: 2 })).toEqual([third, second, first]);
    expect(await idsOf({ after: first, model: 'scripted' })).toEqual([third]);
    expect(await idsOf({ metadata: { topic: 'rain' } })).toEqual([first, second]);
    expect(await idsOf({ metadata: { topic: 'rain', place: 'sea' } })).toEqual([first]);
    expect(await idsOf({ model: 'nobody' })).toEqual([]);
  });

  it('the list of completions has those of a session alone for a request that names it', async () => {
    const headers = { 'x-session-id': 'listed' };
    const { body } = await service.api.with(headers).post('chat/completions', ASK);
    expect(await idsOf({}, headers)).toEqual([body['id']]);
  });

  it.each([
    ['after', 'after=resp_1'],
    ['after', 'after=chatcmpl-1'],
    ['limit', 'limit=101'],
    ['order', 'order=up'],
    ['metadata', 'metadata=x'],
  ])('the list of completions is refused by the name of the parameter: %s', async (param, query) => {
    const { status, body } = await service.api.get(`chat/completions?${query}`);
    expect([status, body]).toMatchObject([400, { error: { param } }]);
  });

  it('the list of completions leads to the messages of a request', async () => {
    const url = 'data:image/png;base64,aGVsbG8=';
    const id = await store('', {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look:' },
            { type: 'image_url', image_url: { url } },
          ],
        },
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
        { role: 'assistant', refusal: 'No.' },
      ],
    });
    const found: object[] = [];
    for await (const message of service.client().chat.completions.messages.list(id, { limit: 2 })) found.push(message);
    expect(found).toMatchObject([
      { role: 'system', content: 'Be brief.', content_parts: null },
      {
        role: 'user',
        content: 'Look:',
        content_parts: [
          { type: 'text', text: 'Look:' },
          { type: 'image_url', image_url: { url } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', content: 'rain', tool_call_id: 'call_1' },
      { role: 'assistant', content: null, refusal: 'No.' },
    ]);
    expect((await service.api.get('chat/completions/chatcmpl-1/messages')).status).toBe(404);
  });
});
