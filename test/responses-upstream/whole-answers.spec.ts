import { describe, expect, it } from '@jest/globals';

import { useFreshService } from '../support/describe-service.js';
import { functionCall, message, type UpstreamItem } from '../support/responses-upstream/items.js';
import { refusing, type Responder } from '../support/responses-upstream/reply.js';
import { ask, MODEL, shareTimedService } from '../support/responses-upstream/start-responses-service.js';
import { toEvents } from '../support/responses-upstream/to-events.js';
import { textOf } from '../support/output.js';
import { SocketClient } from '../support/socket-client.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const TURN = { model: MODEL, input: 'Hi' };

/** The Response of a whole answer with these items as the body, although a stream was asked for. */
function documenting(
  items: readonly UpstreamItem[],
  { terminal = 'response.completed', members = {}, headers = {} } = {},
): Responder {
  return ({ responseId }) => {
    const last = toEvents(responseId, items, { terminal, response: members }).at(-1);
    return refusing(200, JSON.stringify(last?.['response'], null, 1), headers);
  };
}

describe('§3.2 a JSON document in place of a stream', () => {
  const service = useFreshService(() => loadTimed());

  it.each([{}, { 'content-type': 'text/event-stream' }])(
    'a JSON document in place of a stream is a whole answer on every transport: %j',
    async (headers) => {
      const items = [message('Grüße 👋'), functionCall('weather', { city: 'Oslo' })];
      service.upstream.always(documenting(items, { headers }));
      await using client = await SocketClient.open(service);
      const json = await service.api.post('responses', TURN);
      const responses = [json.body, (await ask(service)).response, (await client.turn(TURN)).response];
      for (const response of responses) {
        expect(response).toMatchObject({
          status: 'completed',
          output: [
            { type: 'message', content: [{ text: 'Grüße 👋' }] },
            { type: 'function_call', name: 'weather', arguments: '{"city":"Oslo"}' },
          ],
          usage: { input_tokens: 11, output_tokens: 7 },
        });
      }
      expect(service.upstream.calls).toHaveLength(3);
    },
  );

  it('a JSON document in place of a stream may say that the answer is incomplete', async () => {
    const members = { incomplete_details: { reason: 'content_filter' } };
    service.upstream.respond(documenting([message('Half')], { terminal: 'response.incomplete', members }));
    expect((await ask(service)).response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    });
  });

  it.each([
    [
      'of a Response',
      documenting([], { terminal: 'response.failed', members: { error: { code: 'invalid_prompt', message: 'No.' } } }),
    ],
    ['alone', (): ReturnType<Responder> => refusing(200, '{"error":{"code":"invalid_prompt","message":"No."}}')],
  ])('a JSON document in place of a stream may be an error: %s', async (_, responder) => {
    service.upstream.respond(responder);
    const { status, body } = await service.api.post('responses', TURN);
    expect([status, body]).toMatchObject([400, { error: { code: 'invalid_prompt', message: 'No.' } }]);
  });

  it.each<[body: string, named: string, headers?: Readonly<Record<string, string>>]>([
    ['{"object":"chat.completion","choices":[]}', 'Chat Completions (its entry must not'],
    ['{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}]}', "Anthropic's Messages API"],
    ['{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true}', "Ollama's own API"],
    ['xyz', '`content-encoding: gzip`', { 'content-encoding': 'gzip' }],
  ])(
    'a JSON document in place of a stream fails where it is of another form: %s',
    async (text, named, headers = {}) => {
      service.upstream.respond(() => refusing(200, text, headers));
      await expect(ask(service)).rejects.toMatchObject({
        status: 502,
        message: expect.stringContaining(named) as unknown,
      });
      expect(service.upstream.calls).toHaveLength(1);
    },
  );

  it.each([
    '{"object":"list","data":[]}',
    '{"id":"resp_1","status":"in_progress","output":[]}',
    '{"id":"resp_1","outp',
    '[]',
  ])('a JSON document in place of a stream is repeated where it is no answer: %s', async (text) => {
    service.upstream.respond(() => refusing(200, text));
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(service.upstream.calls).toHaveLength(2);
  });
});
