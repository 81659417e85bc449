import { describe, expect, it } from '@jest/globals';

import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import {
  type ListedModel,
  llamaModelList,
  modelList,
  refusal,
  type RefusalForm,
} from '../support/chat-upstream/refusals.js';
import { textReply } from '../support/chat-upstream/reply.js';
import type { HttpReply } from '../support/upstream-server.js';
import { saidIn } from '../support/output.js';
import { type ChatService, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { SLOW_REFUSALS } from '../support/service.js';

const IMAGE = 'https://example.com/a.png';
const LONG = 'Words upon words. '.repeat(100);

// Each test has it load its upstream.
const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS });

/** The service in front of an upstream that lists models; the file itself names `tested`. */
async function withListed(
  upstream: ChatUpstream,
  use: (service: ChatService) => Promise<void>,
  provider: object = {},
): Promise<void> {
  const models = [
    { name: 'tested', provider: 'upstream', model: 'upstream-model' },
    { name: 'by-name', provider: 'upstream', model: 'tiny' },
  ];
  await using service = await startChatService({ upstream, provider: { discover: true, ...provider }, models, within });
  await use(service);
}

async function namesOf(service: ChatService): Promise<readonly string[]> {
  const list = await service.client().models.list();
  return list.data.map(({ id }) => id);
}

describe('models that an upstream lists', () => {
  it('models that an upstream lists are listed and served under their names', async () => {
    await using upstream = await ChatUpstream.start();
    upstream.list([{ id: 'Qwen/Qwen3-32B', owned_by: 'vllm', created: 1_767_225_600 }, { id: 'llama' }]);
    await withListed(upstream, async (service) => {
      const { data } = await service.client().models.list();
      expect(data).toContainEqual({
        id: 'Qwen/Qwen3-32B',
        object: 'model',
        created: 1_767_225_600,
        owned_by: 'vllm',
      });
      expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(['tested', 'llama']));
      upstream.answer({ text: 'Here.' });
      const { response } = await sendTurn(service, { model: 'Qwen/Qwen3-32B' });
      expect(saidIn(response)).toEqual([{ text: 'Here.' }]);
      expect(upstream.requests.at(-1)?.body.model).toBe('Qwen/Qwen3-32B');
    });
  });

  it('models that an upstream lists are asked for with the credentials of the providers file, and only where the file says so', async () => {
    await using upstream = await ChatUpstream.start();
    upstream.list([{ id: 'hidden' }]);
    await withListed(upstream, async (service) => expect(await namesOf(service)).toContain('hidden'), {
      api_key: 'key-of-the-list',
    });
    expect(upstream.listings[0]).toMatchObject({
      url: '/v1/models',
      headers: { authorization: 'Bearer key-of-the-list' },
    });
    const asked = upstream.listings.length;
    await withListed(upstream, async (service) => expect(await namesOf(service)).toEqual(['tested', 'by-name']), {
      discover: false,
    });
    expect(upstream.listings).toHaveLength(asked);
  });

  it.each<[string, Partial<ListedModel>]>([
    ['max_model_len', { max_model_len: 32 }],
    ['context_length', { context_length: 32 }],
    ['context_window', { context_window: 32 }],
    ['meta.n_ctx', { meta: { n_ctx: 32, n_ctx_train: 131_072 } }],
  ])('models that an upstream lists have the window that is called %s', async (_, members) => {
    await using upstream = await ChatUpstream.start();
    upstream.list([{ id: 'small', ...members }]);
    await withListed(upstream, async (service) => {
      await namesOf(service);
      await expect(sendTurn(service, { model: 'small', input: LONG })).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'context_length_exceeded' } },
      });
      expect(upstream.requests).toEqual([]);
      expect((await sendTurn(service, { model: 'small', input: 'Hi.' })).response.status).toBe('completed');
    });
  });

  it.each<[string, RefusalForm, number]>([
    ['refuses', 'openai', 500],
    ['knows no list', 'empty', 404],
    ['answers with a page', 'html', 200],
    ['answers with half a document', 'invalidJson', 200],
    ['answers with something else', 'message', 200],
  ])('a list of models is not needed: the upstream %s', async (_, form, status) => {
    await using upstream = await ChatUpstream.start();
    upstream.listReply(refusal(status, form));
    await withListed(upstream, async (service) => {
      expect(await namesOf(service)).toEqual(['tested', 'by-name']);
      expect((await sendTurn(service)).response.status).toBe('completed');
      upstream.list([{ id: 'late' }]);
      expect(await namesOf(service)).toEqual(expect.arrayContaining(['tested', 'late']));
    });
  });

  describe('that read text only', () => {
    const asked = { model: 'by-name', input: [{ role: 'user', content: [{ type: 'input_image', image_url: IMAGE }] }] };
    const TEXT_ONLY = llamaModelList('tiny', ['completion']);

    it.each<[string, HttpReply]>([
      ['llama.cpp', TEXT_ONLY],
      ['OpenRouter', modelList([{ id: 'tiny', architecture: { input_modalities: ['text', 'audio'] } }])],
    ])('models that read text only are not sent images: %s', async (_, listing) => {
      await using upstream = await ChatUpstream.start();
      upstream.listReply(listing);
      await withListed(upstream, async (service) => {
        await expect(sendTurn(service, asked)).rejects.toMatchObject({
          status: 400,
          body: {
            error: { code: 'unsupported_value', message: 'This model does not support images.', param: 'input' },
          },
        });
        expect(upstream.requests).toEqual([]);
        expect((await sendTurn(service, { model: 'by-name' })).response.status).toBe('completed');
      });
    });

    it.each<[string, HttpReply, object]>([
      ['the list says that it reads images', llamaModelList('tiny', ['completion', 'multimodal']), {}],
      ['the list says it of another', llamaModelList('other', ['completion']), {}],
      ['OpenRouter says so', modelList([{ id: 'tiny', architecture: { input_modalities: ['text', 'image'] } }]), {}],
      ['the list says nothing of that', modelList([{ id: 'tiny' }]), {}],
      ['the file says otherwise', TEXT_ONLY, { capabilities: { images: true } }],
    ])('models that read text only are only those of which it is known: %s', async (_, listing, provider) => {
      await using upstream = await ChatUpstream.start();
      upstream.listReply(listing);
      await withListed(
        upstream,
        async (service) => {
          expect((await sendTurn(service, asked)).response.status).toBe('completed');
          expect(JSON.stringify(upstream.requests[0]?.body)).toContain(IMAGE);
        },
        provider,
      );
    });
  });

  it('models may stand in a bare list among entries that are none', async () => {
    await using upstream = await ChatUpstream.start();
    const entries = [{ id: 'good' }, null, 'text', {}, { id: 7 }, { id: '' }, { id: 'also', created: 'never' }];
    upstream.listReply(textReply(JSON.stringify(entries), 'application/json'));
    await withListed(upstream, async (service) => {
      expect(new Set(await namesOf(service))).toEqual(new Set(['tested', 'by-name', 'good', 'also']));
    });
  });
});
