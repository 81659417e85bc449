import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { textReply } from '../support/chat-upstream/reply.js';
import { Translation } from '../support/translation/translation.js';

const PLAIN = {
  model: 'upstream-model',
  messages: [{ role: 'user', content: 'Go on.' }],
  stream: true,
  stream_options: { include_usage: true },
};

const LOGPROBS = [
  [{ token: 'Hel', logprob: -0.1, bytes: [72, 101, 108], top_logprobs: [{ token: 'Hi', logprob: -2, bytes: null }] }],
  [
    { token: 'l', logprob: -0.2, bytes: null, top_logprobs: [] },
    { token: 'o', logprob: -0.3 },
  ],
];
const READ_LOGPROBS = [
  {
    token: 'Hel',
    logprob: -0.1,
    bytes: [72, 101, 108],
    top_logprobs: [{ token: 'Hi', logprob: -2, bytes: [72, 105] }],
  },
  { token: 'l', logprob: -0.2, bytes: [108], top_logprobs: [] },
  { token: 'o', logprob: -0.3, bytes: [111], top_logprobs: [] },
];

describe('what tunes the answer of an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    const reasoningSwitch = (name: string): object => ({ capabilities: { reasoning_switch: name } });
    translation = await Translation.start(
      {
        effort: reasoningSwitch('reasoning_effort'),
        object: reasoningSwitch('reasoning'),
        template: reasoningSwitch('enable_thinking'),
        thinking: reasoningSwitch('thinking'),
        unswitched: reasoningSwitch('none'),
        completion: { capabilities: { max_tokens_field: 'max_completion_tokens' } },
        verbose: { capabilities: { verbosity: true } },
        caching: { capabilities: { prompt_cache: true } },
        usageless: { capabilities: { stream_usage: false } },
        omitting: { omit: ['metadata', 'user', 'temperature', 'logprobs', 'top_logprobs', 'stream_options'] },
        forwarding: {
          forward: ['top_k', 'chat_template_kwargs', 'seed'],
          capabilities: { reasoning_switch: 'enable_thinking' },
        },
      } as Readonly<Record<string, Readonly<Record<string, unknown>>>>,
      [{ name: 'small', provider: 'generic', model: 'upstream-model', max_output_tokens: 100 }],
    );
  });

  afterAll(() => translation.close());

  it.each<[string, object, object]>([
    ['nothing', {}, {}],
    [
      'nulls',
      {
        temperature: null,
        top_p: null,
        max_output_tokens: null,
        metadata: null,
        reasoning: null,
        text: null,
        top_logprobs: null,
      },
      {},
    ],
    ['temperature', { temperature: 0.5 }, { temperature: 0.5 }],
    ['temperature of 0', { temperature: 0 }, { temperature: 0 }],
    ['temperature as it would be anyway', { temperature: 1 }, { temperature: 1 }],
    ['top_p', { top_p: 0.9 }, { top_p: 0.9 }],
    ['top_p as it would be anyway', { top_p: 1 }, { top_p: 1 }],
    [
      'penalties',
      { presence_penalty: -1.5, frequency_penalty: 0.5 },
      { presence_penalty: -1.5, frequency_penalty: 0.5 },
    ],
    ['penalties of 0', { presence_penalty: 0, frequency_penalty: 0 }, { presence_penalty: 0, frequency_penalty: 0 }],
    ['max_output_tokens', { max_output_tokens: 50 }, { max_tokens: 50 }],
    ['verbosity, which few servers know', { text: { verbosity: 'low' } }, {}],
    ['user', { user: 'ada' }, { user: 'ada' }],
    ['metadata', { metadata: { team: 'a' } }, { metadata: { team: 'a' } }],
    ['empty metadata', { metadata: {} }, {}],
    ['alternatives to tokens', { top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 }],
    ['no alternatives', { top_logprobs: 0 }, {}],
    ['log probabilities', { include: ['message.output_text.logprobs'] }, { logprobs: true }],
    ['both', { include: ['message.output_text.logprobs'], top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
    [
      'what is ours',
      {
        store: false,
        truncation: 'auto',
        service_tier: 'flex',
        prompt_cache_key: 'k',
        safety_identifier: 's',
        include: [],
      },
      {},
    ],
    ['what Codex sends beside', { client_metadata: { a: 'b' }, prompt_cache_key: 'k' }, {}],
  ])('a sampling member is sent if the client sends it, and only then: %s', async (_, request, sent) => {
    expect(await translation.sent(request)).toEqual({ ...PLAIN, ...sent });
  });

  it.each<[string, string, object]>([
    ['effort', 'none', { reasoning_effort: 'none' }],
    ['effort', 'minimal', { reasoning_effort: 'minimal' }],
    ['effort', 'high', { reasoning_effort: 'high' }],
    ['effort', 'max', { reasoning_effort: 'max' }],
    ['object', 'none', { reasoning: { effort: 'none' } }],
    ['object', 'low', { reasoning: { effort: 'low' } }],
    ['template', 'none', { chat_template_kwargs: { enable_thinking: false } }],
    ['template', 'low', { chat_template_kwargs: { enable_thinking: true } }],
    ['thinking', 'none', { thinking: { type: 'disabled' } }],
    ['thinking', 'high', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
    ['unswitched', 'high', {}],
  ])("the effort is sent in the upstream's own words: %s, %s", async (model, effort, sent) => {
    expect(await translation.sent({ model, reasoning: { effort } })).toEqual({ ...PLAIN, ...sent });
    expect(await translation.sent({ model, reasoning: { summary: 'auto' } })).toEqual(PLAIN);
  });

  it('the limit is sent under the name that the upstream has for it', async () => {
    const sent = await translation.sent({ model: 'completion', max_output_tokens: 50 });
    expect(sent).toEqual({ ...PLAIN, max_completion_tokens: 50 });
  });

  it('the limit of the model is sent where the client wants more, and not where it wants less', async () => {
    expect(await translation.sent({ model: 'small', max_output_tokens: 500 })).toEqual({ ...PLAIN, max_tokens: 100 });
    expect(await translation.sent({ model: 'small', max_output_tokens: 50 })).toEqual({ ...PLAIN, max_tokens: 50 });
    const { response } = await translation.turn({ model: 'small', max_output_tokens: 500 });
    expect(response['max_output_tokens']).toBe(500);
  });

  it.each(['low', 'medium', 'high'])('the verbosity is sent where the upstream knows that: %s', async (verbosity) => {
    expect(await translation.sent({ model: 'verbose', text: { verbosity } })).toEqual({ ...PLAIN, verbosity });
    expect(await translation.sent({ model: 'verbose' })).toEqual(PLAIN);
  });

  it('the cache of prompts is sent where the upstream has one', async () => {
    const cache = {
      prompt_cache_key: 'thread-1',
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'explicit', ttl: '30m' },
    };
    expect(await translation.sent({ model: 'caching', ...cache })).toEqual({ ...PLAIN, ...cache });
    expect(await translation.sent({ model: 'caching' })).toEqual(PLAIN);
    expect(await translation.sent(cache)).toEqual(PLAIN);
  });

  it('the usage is not asked for where the upstream does not know how to ask', async () => {
    expect(await translation.sent({ model: 'usageless' })).not.toHaveProperty('stream_options');
  });

  it('a request leaves out what the upstream does not take', async () => {
    const request = { user: 'ada', metadata: { a: 'b' }, temperature: 1, top_p: 1, top_logprobs: 1 };
    const { messages, ...rest } = await translation.sent({ model: 'omitting', ...request });
    expect(messages).toEqual(PLAIN.messages);
    expect(rest).toEqual({ model: 'upstream-model', stream: true, top_p: 1 });
  });

  it('the members that the provider hands on are sent', async () => {
    const request = {
      model: 'forwarding',
      top_k: 5,
      seed: null,
      chat_template_kwargs: { language: 'de' },
      reasoning: { effort: 'none' },
    };
    const sent = await translation.sent(request);
    expect(sent).toEqual({
      ...PLAIN,
      top_k: 5,
      seed: null,
      chat_template_kwargs: { enable_thinking: false, language: 'de' },
    });
  });

  describe('in the form of log probabilities', () => {
    it('log probabilities come back with the words, and with all of them', async () => {
      const request = { include: ['message.output_text.logprobs'], top_logprobs: 1 };
      const { response, events = [] } = await translation.turn(request, { text: ['Hel', 'lo'], logprobs: LOGPROBS });
      const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
      expect(deltas.map(({ delta, logprobs }) => [delta, logprobs])).toEqual([
        ['Hel', READ_LOGPROBS.slice(0, 1)],
        ['lo', READ_LOGPROBS.slice(1)],
      ]);
      expect(events.find(({ type }) => type === 'response.output_text.done')).toMatchObject({
        logprobs: READ_LOGPROBS,
      });
      expect(response['output']).toMatchObject([{ content: [{ text: 'Hello', logprobs: READ_LOGPROBS }] }]);
    });

    it('log probabilities come back in one body as well', async () => {
      const message = { role: 'assistant', content: 'Hello' };
      const choice = { index: 0, message, logprobs: { content: LOGPROBS.flat() }, finish_reason: 'stop' };
      const json = JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', choices: [choice] });
      translation.upstream.respond(textReply(json, 'application/json'));
      const { response } = await translation.turn({ include: ['message.output_text.logprobs'] }, 'queued');
      expect(response['output']).toMatchObject([{ content: [{ text: 'Hello', logprobs: READ_LOGPROBS }] }]);
    });

    it('log probabilities are those of the words, and not of the thoughts before them', async () => {
      const chunk = (delta: object, token: string, finish: string | null = null): string => {
        const logprobs = { content: [{ token, logprob: -0.5, bytes: null, top_logprobs: [] }] };
        const choices = [{ index: 0, delta, logprobs, finish_reason: finish }];
        return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices })}\n\n`;
      };
      const frames = [
        chunk({ reasoning_content: 'Hm.' }, 'Hm.'),
        chunk({ content: 'Hi.' }, 'Hi.', 'stop'),
        'data: [DONE]\n\n',
      ];
      translation.upstream.replay(frames.join(''));
      const { response } = await translation.turn({ include: ['message.output_text.logprobs'] }, 'queued');
      expect(response['output']).toMatchObject([
        { type: 'reasoning' },
        { content: [{ text: 'Hi.', logprobs: [{ token: 'Hi.', logprob: -0.5 }] }] },
      ]);
    });

    it('log probabilities are an empty list where there are none', async () => {
      const { response } = await translation.turn({ top_logprobs: 1 }, { text: 'Hello' });
      expect(response['output']).toMatchObject([{ content: [{ text: 'Hello', logprobs: [] }] }]);
    });
  });

  it('a sampling member is refused by the upstream, and the client is told', async () => {
    translation.upstream.refuse(400);
    const { status, error } = await translation.refusal({ temperature: 2 });
    expect(status).toBe(400);
    expect(error).toMatchObject({ type: 'invalid_request_error', param: 'input' });
    expect(error['message']).toContain('Refused, says the upstream.');
  });
});
