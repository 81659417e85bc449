import { describe, expect, it } from '@jest/globals';
import type { APIError, default as OpenAI } from 'openai';

import { Clock } from '../../src/index.js';
import { createInBackground, whenEnded } from '../support/background.js';
import { chunk, finish, openStreamOf, streamOf } from './chunk-stream.js';
import type { Quirks } from '../support/chat-upstream/quirks.js';
import { saidIn } from '../support/output.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useFreshService } from '../support/describe-service.js';
import { PausingClock } from '../support/clocks.js';

type Response = OpenAI.Responses.Response;

const HALF = { text: ['Half', ' an', ' answer'], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };
const WHOLE = { text: ['The', ' whole', ' answer'] };

const BREAKS: readonly (readonly [string, Quirks])[] = [
  ['breaks', { breaks: { after: 3, by: 'cut' } }],
  ['is reset', { breaks: { after: 3, by: 'reset' } }],
  ['ends without its end', { breaks: { after: 3, by: 'end' } }],
];

describe('an answer that its upstream breaks off', () => {
  const service = useFreshService(() =>
    startChatService({
      // Whole answers that break off have shown nothing yet: whole-answers.spec.ts.
      provider: { retries: 0, capabilities: { whole_answers: 'never' } },
      overrides: [[Clock, new PausingClock()]],
    }),
  );
  const create = (body: object = {}): Promise<Response> =>
    service.client().responses.create({ model: MODEL, input: 'Go on.', ...body });

  it.each(BREAKS)(
    'an answer that its upstream breaks off is asked for again for a client of JSON, who sees nothing of it: it %s',
    async (_, quirks) => {
      service.upstream.answer(HALF, quirks).answer(WHOLE);
      const response = await create();
      expect(response).toMatchObject({ status: 'completed', error: null });
      expect(saidIn(response as never)).toEqual([{ text: 'The whole answer' }]);
      expect(service.upstream.requests).toHaveLength(2);
      expect(service.upstream.requests[1]?.body).toEqual(service.upstream.requests[0]?.body);
      // What continues the response sees the answer once.
      service.upstream.answer(WHOLE);
      await create({ previous_response_id: response.id });
      expect(JSON.stringify(service.upstream.requests[2]?.body)).not.toContain('Half');
    },
  );

  it('an answer that its upstream breaks off leaves no opaque data behind', async () => {
    const thought = (data: string): object => ({ type: 'reasoning.encrypted', data });
    const said = [{ reasoning: 'Hm.' }, { content: 'Words' }].map((delta) => chunk(delta));
    service.upstream.replay(openStreamOf([chunk({ reasoning_details: [thought('SEVERED')] }), ...said]));
    service.upstream.replay(streamOf([chunk({ reasoning_details: [thought('WHOLE')] }), ...said, finish()]));
    const { id } = await create();
    await create({ previous_response_id: id });
    const [, , next] = service.upstream.requests;
    expect(next?.body.messages?.[1]).toMatchObject({ content: 'Words', reasoning_details: [thought('WHOLE')] });
    expect(JSON.stringify(next?.body)).not.toContain('SEVERED');
  });

  it('an answer that its upstream breaks off counts what it has cost', async () => {
    service.upstream.answer(WHOLE);
    const { usage: once } = await create();
    service.upstream.answer(HALF, { breaks: { after: 3, by: 'cut' } }).answer(WHOLE);
    const { usage: twice } = await create();
    expect(twice?.input_tokens).toBeGreaterThan(once?.input_tokens ?? 0);
    expect(twice?.output_tokens).toBeGreaterThan(once?.output_tokens ?? 0);
  });

  it('an answer that its upstream breaks off fails after three times', async () => {
    for (let time = 0; time < 4; time += 1) service.upstream.answer(HALF, { breaks: { after: 3, by: 'cut' } });
    expect(await create()).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(service.upstream.requests).toHaveLength(3);
  });

  it('a client of JSON gets an HTTP error that SDKs retry when nothing is stored', async () => {
    for (let time = 0; time < 3; time += 1) service.upstream.answer(HALF, { breaks: { after: 3, by: 'cut' } });
    service.upstream.answer(WHOLE);
    const asked = { model: MODEL, input: 'Go on.', store: false };
    const refused = await service
      .client()
      .responses.create(asked, { maxRetries: 0 })
      .then(null, (error: unknown) => error);
    expect(refused).toMatchObject({ status: 503, code: 'model_unavailable', type: 'service_unavailable_error' });
    expect((refused as APIError).headers?.get('retry-after')).toBe('1');
    expect((refused as APIError).headers?.get('x-should-retry')).toBeNull();
    expect(await create({ store: false })).toMatchObject({ status: 'completed' });
    expect(service.upstream.requests).toHaveLength(4);
  });

  it('an answer that its upstream breaks off fails for a client that has seen a part of it', async () => {
    service.upstream.answer(HALF, { breaks: { after: 3, by: 'cut' } });
    const stream = await service.client().responses.create({ model: MODEL, input: 'Go on.', stream: true });
    const types = [];
    for await (const { type } of stream) types.push(type);
    expect(types.at(-1)).toBe('response.failed');
    expect(service.upstream.requests).toHaveLength(1);
  });

  it('an answer that its upstream breaks off is gone on with in the background, without what was half-written', async () => {
    service.upstream.answer(HALF, { breaks: { after: 3, by: 'cut' } }).answer(WHOLE);
    const { id } = await createInBackground(service, { model: MODEL, input: 'Go on.' });
    const response = await whenEnded(service, id);
    expect(response).toMatchObject({ status: 'completed', error: null });
    expect(saidIn(response as never)).toEqual([{ text: 'The whole answer' }]);
    expect(service.upstream.requests).toHaveLength(2);
  });
});
