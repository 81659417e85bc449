import { afterAll, beforeAll, expect, it } from '@jest/globals';

import type { Quirks } from '../support/chat-upstream/quirks.js';
import { chunk, completion, finish, streamOf } from './chunk-stream.js';
import { type ChatService, runTurn, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { describeService } from '../support/describe-service.js';

const ANSWER = { text: ['One', ' two', ' three', ' four'] };

const COUNTED = { prompt_tokens: 40, completion_tokens: 3, total_tokens: 43, cached_tokens: 30 };

const usage = (input: number, output: number, cached = 0, reasoning = 0, written = 0): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});

describeService(
  'usage of an upstream',
  () => startChatService(),
  (service) => {
    /** With an upstream that does not take `stream_options`. */
    let unasking: ChatService;

    beforeAll(async () => {
      unasking = await startChatService({ provider: { capabilities: { stream_usage: false } } });
    });
    afterAll(async () => {
      await unasking.close();
    });

    it.each<[string, Quirks]>([
      ['in a last chunk of its own', { usage: 'own_chunk' }],
      ['in a last chunk of its own when asked', { usage: 'asked' }],
      ['in a last chunk of its own, and null before', { usage: 'own_chunk', nullUsage: true }],
      ['in the last chunk that says something', { usage: 'with_content' }],
      ['in the chunk with the finish reason', { usage: 'with_finish' }],
      ['in every chunk, growing', { usage: 'cumulative' }],
      ['in every chunk, growing, and behind CRLF', { usage: 'cumulative', lineEnd: '\r\n' }],
      ['in a body that is not streamed', { json: true }],
      ['with the finish reason, and the stream has no [DONE]', { usage: 'with_finish', done: false }],
      ['in a last chunk, and the stream has no [DONE]', { usage: 'own_chunk', done: false }],
    ])('usage of an upstream is counted once when it comes %s', async (_, quirks) => {
      const { response } = await runTurn(service, ANSWER, quirks);
      expect(response['usage']).toEqual(usage(11, 7));
    });

    it.each<[string, object, object]>([
      [
        'cached tokens',
        { prompt_tokens: 50, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 40 } },
        usage(50, 5, 40),
      ],
      ['cache hits', { prompt_tokens: 50, completion_tokens: 5, prompt_cache_hit_tokens: 32 }, usage(50, 5, 32)],
      [
        'tokens that are written to the cache',
        {
          prompt_tokens: 50,
          completion_tokens: 5,
          prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 40 },
        },
        usage(50, 5, 8, 0, 40),
      ],
      [
        "cached tokens under Anthropic's names",
        {
          prompt_tokens: 50,
          completion_tokens: 5,
          cache_read_input_tokens: 30,
          cache_creation_input_tokens: 12,
        },
        usage(50, 5, 30, 0, 12),
      ],
      [
        'reasoning tokens',
        { prompt_tokens: 5, completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 40 } },
        usage(5, 50, 0, 40),
      ],
      [
        'reasoning tokens beside the counts',
        { prompt_tokens: 5, completion_tokens: 50, reasoning_tokens: 8 },
        usage(5, 50, 0, 8),
      ],
      [
        'reasoning tokens that only the total contains',
        {
          prompt_tokens: 5,
          completion_tokens: 50,
          total_tokens: 95,
          completion_tokens_details: { reasoning_tokens: 40 },
        },
        usage(5, 90, 0, 40),
      ],
      [
        'thinking that only the total shows',
        { prompt_tokens: 5, completion_tokens: 50, total_tokens: 95 },
        usage(5, 90, 0, 40),
      ],
      [
        'more output than its parts',
        { prompt_tokens: 5, completion_tokens: 50, total_tokens: 95, reasoning_tokens: 30 },
        usage(5, 90, 0, 30),
      ],
      [
        'a total that is less than its parts',
        { prompt_tokens: 5, completion_tokens: 50, total_tokens: 50 },
        usage(5, 50),
      ],
      [
        'cached tokens that only the total contains',
        { input_tokens: 5, output_tokens: 6, total_tokens: 41, cache_read_input_tokens: 30 },
        usage(35, 6, 30),
      ],
      ['cached tokens on top', { prompt_tokens: 50, completion_tokens: 5, cached_tokens: 44 }, usage(50, 5, 44)],
      ['counts that are texts', { prompt_tokens: '50', completion_tokens: '5', total_tokens: '55' }, usage(50, 5)],
      [
        'the names of the Responses API',
        {
          input_tokens: 50,
          input_tokens_details: { cached_tokens: 32 },
          output_tokens: 9,
          output_tokens_details: { reasoning_tokens: 4 },
          total_tokens: 59,
        },
        usage(50, 9, 32, 4),
      ],
      [
        'details that are null',
        { prompt_tokens: 5, completion_tokens: 6, prompt_tokens_details: null, completion_tokens_details: null },
        usage(5, 6),
      ],
      [
        'more than it can be',
        {
          prompt_tokens: 5,
          completion_tokens: 6,
          prompt_tokens_details: { cached_tokens: 9 },
          completion_tokens_details: { reasoning_tokens: 9 },
        },
        usage(5, 6, 5, 6),
      ],
    ])('usage of an upstream tells of %s', async (_, given, expected) => {
      const { response } = await runTurn(service, { ...ANSWER, usage: given });
      expect(response['usage']).toEqual(expected);
    });

    it('usage of an upstream has the cached tokens that llama.cpp counts beside it', async () => {
      const answer = { ...ANSWER, usage: { prompt_tokens: 50, completion_tokens: 5 } };
      const { response } = await runTurn(service, answer, { chunkMembers: { timings: { cache_n: 36, prompt_n: 14 } } });
      expect(response['usage']).toEqual(usage(50, 5, 36));
    });

    it.each<[string, readonly object[]]>([
      ['in the choice', [chunk({ content: 'Hi.' }), chunk({}, { finish_reason: 'stop', usage: COUNTED })]],
      [
        'in each choice, growing',
        [
          chunk({ content: 'Hi.' }, { usage: { ...COUNTED, completion_tokens: 1 } }),
          chunk({}, { finish_reason: 'stop', usage: COUNTED }),
        ],
      ],
      ['as a JSON text', [chunk({ content: 'Hi.' }), finish(), { choices: [], usage: JSON.stringify(COUNTED) }]],
      ['beside no choices', [chunk({ content: 'Hi.' }), finish(), { choices: null, usage: COUNTED }]],
    ])('usage of an upstream is found %s', async (_, data) => {
      service.upstream.replay(streamOf(data));
      const { response } = await sendTurn(service);
      expect(response['usage']).toEqual(usage(40, 3, 30));
    });

    it('usage is found in the choice of a JSON document', async () => {
      service.upstream.replay(
        JSON.stringify(completion({ content: 'Hi.' }, { finish_reason: 'stop', usage: COUNTED })),
      );
      const { response } = await sendTurn(service);
      expect(response['usage']).toEqual(usage(40, 3, 30));
    });

    it('usage of an upstream is found where Groq puts it', async () => {
      const usageBeside = { prompt_tokens: 21, completion_tokens: 9, total_tokens: 30 };
      const quirks: Quirks = { usage: 'absent', chunkMembers: { x_groq: { id: 'req_1', usage: usageBeside } } };
      const { response } = await runTurn(service, ANSWER, quirks);
      expect(response['usage']).toEqual(usage(21, 9));
    });

    it.each<[string, object | undefined]>([
      ['absent', undefined],
      ['empty', {}],
      ['a word in every member', { prompt_tokens: 'eleven', completion_tokens: '' }],
      ['negative', { prompt_tokens: -1, completion_tokens: -1 }],
      ['a fraction', { prompt_tokens: 1.5, completion_tokens: 2 }],
      ['more than any model reads', { prompt_tokens: 2 ** 31, completion_tokens: 2 }],
    ])('usage of an upstream is counted here when it is %s', async (_, given) => {
      const answer = { ...ANSWER, ...(given === undefined ? {} : { usage: given }) };
      const { response } = await runTurn(service, answer, { usage: given === undefined ? 'absent' : 'own_chunk' });
      const counted = response['usage'] as Readonly<Record<'input_tokens' | 'output_tokens' | 'total_tokens', number>>;
      expect(counted.input_tokens).toBeGreaterThan(0);
      // Four words are four tokens; a message costs a few more.
      expect(counted.output_tokens).toBeGreaterThanOrEqual(4);
      expect(counted.output_tokens).toBeLessThan(11);
      expect(counted.total_tokens).toBe(counted.input_tokens + counted.output_tokens);
    });

    it('usage of an upstream is asked for', async () => {
      await runTurn(service, ANSWER);
      expect(service.upstream.requests.at(-1)?.body).toMatchObject({ stream_options: { include_usage: true } });
    });

    it('usage of an upstream is not asked for where the upstream does not understand it, and read all the same', async () => {
      const { response } = await runTurn(unasking, ANSWER, { usage: 'with_finish' });
      expect(unasking.upstream.requests.at(-1)?.body).not.toHaveProperty('stream_options');
      expect(response['usage']).toEqual(usage(11, 7));
    });
  },
);
