import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock } from '../../src/testing/index.js';
import type { RefusalForm } from '../support/chat-upstream/refusals.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';

const KEY = 'sk-upstream-0123456789abcdef';

describe('refusals of an upstream', () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const service = useService(() =>
    startChatService({ provider: { retries: 0, api_key: KEY }, overrides: [[Clock, clock]] }),
  );
  let log: ServiceLog;

  beforeEach(() => {
    log = ServiceLog.begin();
  });

  afterEach(() => log[Symbol.dispose]());

  describe('instead of an answer', () => {
    it.each<RefusalForm>([
      'openai',
      'numberCode',
      'flat',
      'errorText',
      'detailList',
      'messageDetail',
      'detailText',
      'message',
      'list',
      'nested',
      'nestedObject',
      'nestedText',
      'errorsList',
      'errorList',
      'detailObject',
      'capitalMessage',
      'text',
    ])('refusals of an upstream say what is wrong with the request, in the form %s', async (form) => {
      service.upstream.refuse(400, form);
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 400,
        body: {
          error: { type: 'invalid_request_error', message: expect.stringContaining('Refused, says the upstream.') },
        },
      });
    });

    it.each<RefusalForm>(['html', 'empty', 'invalidJson'])(
      'refusals of an upstream may say nothing that helps: %s',
      async (form) => {
        service.upstream.refuse(400, form);
        await expect(sendTurn(service)).rejects.toMatchObject({
          status: 400,
          body: { error: { type: 'invalid_request_error', message: expect.not.stringContaining('<') } },
        });
      },
    );

    it('refusals of an upstream keep code and parameter where both protocols have them', async () => {
      service.upstream.refuse(400, 'openai');
      await expect(sendTurn(service)).rejects.toMatchObject({ body: { error: { code: 'some_code', param: 'input' } } });
    });

    it.each<[number, number, string, string]>([
      [400, 400, 'invalid_request_error', 'some_code'],
      [413, 413, 'invalid_request_error', 'some_code'],
      [422, 400, 'invalid_request_error', 'some_code'],
      [401, 500, 'server_error', 'server_error'],
      [402, 500, 'server_error', 'server_error'],
      [403, 500, 'server_error', 'server_error'],
      [404, 404, 'invalid_request_error', 'model_not_found'],
      [429, 429, 'rate_limit_error', 'rate_limit_exceeded'],
      [500, 500, 'server_error', 'server_error'],
      [502, 500, 'server_error', 'server_error'],
      [503, 503, 'service_unavailable_error', 'server_is_overloaded'],
      [504, 500, 'server_error', 'server_error'],
      [529, 503, 'service_unavailable_error', 'server_is_overloaded'],
    ])(
      'refusals of an upstream with status %i have status %i, type %s and code %s',
      async (given, status, type, code) => {
        service.upstream.refuse(given, 'openai');
        await expect(sendTurn(service)).rejects.toMatchObject({ status, body: { error: { type, code } } });
      },
    );

    it.each([401, 403, 500, 503])(
      'refusals of an upstream keep to themselves what the upstream says with %i',
      async (status) => {
        service.upstream.refuse(status, 'openai');
        const refusal = await sendTurn(service).catch((error: unknown) => error);
        expect(JSON.stringify(refusal)).not.toContain('Refused');
      },
    );

    it('refusals of an upstream never show keys and addresses', async () => {
      const message = `Bad key ${KEY} at http://10.1.2.3:8000/v1 (host gpu-7.internal:8000).`;
      service.upstream.respond(textReply(JSON.stringify({ error: { message } }), 'application/json', { status: 400 }));
      const refusal = await sendTurn(service).catch((error: unknown) => error);
      const shown = JSON.stringify(refusal);
      expect(shown).toContain('Bad key');
      for (const secret of [KEY, '10.1.2.3', 'gpu-7.internal', '8000']) expect(shown).not.toContain(secret);
      expect(service.upstream.requests.at(-1)?.headers['authorization']).toBe(`Bearer ${KEY}`);
    });

    it('refusals of an upstream are logged without keys', async () => {
      const message = `Bad key ${KEY} at http://10.1.2.3:8000/v1.`;
      service.upstream.respond(textReply(JSON.stringify({ error: { message } }), 'application/json', { status: 500 }));
      await expect(sendTurn(service)).rejects.toMatchObject({ status: 500 });
      const logged = log.complaints.join('\n');
      expect(logged).toContain('Bad key');
      expect(logged).not.toContain(KEY);
    });

    it.each<[string, number, string]>([
      [
        'llama.cpp',
        500,
        'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
      ],
      ['llama.cpp, of sounds', 500, 'audio input is not supported - hint: you may need to provide the mmproj'],
      ['others', 500, 'This model does not support image input.'],
      ['vLLM', 500, 'tiny is not a multimodal model'],
    ])(
      'refusals of an upstream say that a model reads text only, whatever the status: %s',
      async (_, status, message) => {
        const body = JSON.stringify({ error: { code: status, message, type: 'server_error' } });
        service.upstream.respond(textReply(body, 'application/json', { status }));
        await expect(sendTurn(service)).rejects.toMatchObject({
          status: 400,
          body: {
            error: {
              type: 'invalid_request_error',
              code: 'unsupported_value',
              param: 'input',
              message: `The model rejected this request: ${message}`,
            },
          },
        });
      },
    );

    it('refusals of an upstream say what is not implemented', async () => {
      service.upstream.refuse(501);
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 400,
        body: { error: { message: 'The model rejected this request: Refused, says the upstream.' } },
      });
    });

    it.each([
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
      'the request exceeds the available context size, try increasing it',
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Prompt too long: 5000 tokens',
      'The input token count (5000) exceeds the maximum number of tokens allowed (4096).',
      'The input token count is 5000 but model only supports up to 4096.',
      'input length and `max_tokens` exceed context limit: 3000 + 2000 > 4096',
      'Range of input length should be [1, 4096]',
      'Your request exceeded model token limit: 4096 (requested: 5000)',
      'Prompt exceeds max length',
      'prompt token count of 5000 exceeds the limit of 4096',
      'Input length 5000 exceeds the maximum allowed input length of 4096 tokens.',
      'the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model',
      'Too many input tokens. Max input tokens: 4096',
      'Please reduce the length of the messages or completion. Current length is 5000 while limit is 4096',
    ])('refusals of an upstream tell which conversations are too long, whatever they call it: %s', async (message) => {
      const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code: '400' } });
      service.upstream.respond(textReply(body, 'application/json', { status: 400 }));
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'context_length_exceeded', param: 'input' } },
      });
    });

    it.each([
      'max_tokens 9000 exceeds the limit of 8192',
      'Too many input tokens per minute: the limit is 30000.',
      'The input tokens of this request exceed the rate limit.',
    ])('refusals of an upstream that are about other limits do not tell of the context: %s', async (message) => {
      service.upstream.respond(textReply(JSON.stringify({ error: { message } }), 'application/json', { status: 400 }));
      await expect(sendTurn(service)).rejects.toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_value' } },
      });
    });
  });

  describe('that ask for patience', () => {
    /** The status of a refusal, and the seconds that it asks to wait. */
    async function refusalOfService(): Promise<readonly [status: number, seconds: string | null]> {
      const answer = await fetch(`${service.baseURL}/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'tested', input: 'Go on.' }),
      });
      await answer.arrayBuffer();
      return [answer.status, answer.headers.get('retry-after')];
    }

    it.each<[string, Record<string, string>, string]>([
      ['in seconds', { 'retry-after': '7' }, '7'],
      ['in fractions of seconds', { 'retry-after': '1.5' }, '2'],
      ['in milliseconds', { 'retry-after-ms': '2500' }, '3'],
      ['in both', { 'retry-after': '60', 'retry-after-ms': '2500' }, '3'],
      ['until a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, '30'],
      ['until a date that is over', { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, '0'],
      ['without saying how long', {}, '1'],
      ['in words', { 'retry-after': 'soon' }, '1'],
      ['in words with a number', { 'retry-after': 'after 5' }, '1'],
      ['in less than no time', { 'retry-after': '-5' }, '1'],
      ['in less than no milliseconds', { 'retry-after-ms': '-5', 'retry-after': '7' }, '7'],
      ['in what is no number', { 'retry-after': 'NaN', 'retry-after-ms': 'NaN' }, '1'],
      ['in seconds without end', { 'retry-after': 'Infinity' }, '1'],
      ['in far too many seconds', { 'retry-after': '99999999999999999999999' }, '86400'],
      ['in far too many milliseconds', { 'retry-after-ms': '99999999999' }, '86400'],
    ])('refusals that ask for patience are handed on when they say it %s', async (_, headers, expected) => {
      for (const status of [429, 503]) {
        service.upstream.refuse(status, 'openai', headers);
        expect(await refusalOfService()).toEqual([status, expected]);
      }
    });

    it.each([
      ['34s', '34'],
      ['6.2s', '7'],
      ['soon', '1'],
      [34, '1'],
    ])('refusals that ask for patience in their details are handed on: %j', async (retryDelay, expected) => {
      const details = [{ '@type': 'type.googleapis.com/google.rpc.Help' }, { retryDelay }];
      const body = JSON.stringify([{ error: { code: 429, message: 'Quota exceeded.', details } }]);
      for (const status of [429, 503]) {
        service.upstream.respond(textReply(body, 'application/json', { status }));
        expect(await refusalOfService()).toEqual([status, expected]);
      }
    });

    it.each([
      ['Rate limit reached. Please try again in 6.2s.', '7'],
      ['You exceeded your current quota. Please retry in 34.07s.', '35'],
      ['The call rate limit is exceeded. Please retry after 26 seconds.', '26'],
      ['Please retry after you have read the manual, in 5 seconds.', '1'],
    ])('refusals that ask for patience in their text are handed on: %s', async (message, expected) => {
      for (const status of [429, 503]) {
        service.upstream.respond(textReply(JSON.stringify({ error: { message } }), 'application/json', { status }));
        expect(await refusalOfService()).toEqual([status, expected]);
      }
    });
  });
});
