import type Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';

import { ServiceLog } from '../support/service-log.js';
import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { anthropic, HELLO, LOOK } from './anthropic.js';

const MARK = { cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } };

/** A conversation in which everything is marked that can be. */
const MARKED = {
  ...HELLO,
  model: 'tested',
  system: [
    { type: 'text', text: 'Be brief.' },
    { type: 'text', text: 'Be kind.', ...MARK },
  ],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Look.', ...MARK }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'A sea.', ...MARK }] },
  ],
  tools: [LOOK],
} satisfies Anthropic.MessageCreateParamsNonStreaming;

const service = useService(() =>
  startChatService({
    provider: { forward: ['cache_control'] },
    providersBeside: { plain: { base_url: 'http://127.0.0.1:9/v1', retries: 0 } },
    models: [
      { name: 'tested', provider: 'upstream' },
      { name: 'plain', provider: 'plain' },
    ],
  }),
);

const sent = () => service.upstream.requests.at(-1)?.body as Readonly<Record<string, unknown>>;

describe('cache_control', () => {
  it('cache_control of a message reaches an upstream that takes it, in the system, in what is said, and in results', async () => {
    await anthropic(service).messages.create({ ...MARKED, ...MARK });
    expect(sent()).toMatchObject({
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'Be brief.' },
            { type: 'text', text: 'Be kind.', ...MARK },
          ],
        },
        { role: 'user', content: [{ type: 'text', text: 'Look.', ...MARK }] },
        { role: 'assistant', tool_calls: [{ id: 'call_1' }] },
        { role: 'tool', content: [{ type: 'text', text: 'A sea.', ...MARK }] },
      ],
      ...MARK,
    });
  });

  it('cache_control reaches an upstream from blocks within documents, results of searches and results of tools', async () => {
    const text = (value: string) => ({ type: 'text' as const, text: value });
    const source = { type: 'content' as const, content: [{ ...text('Page 1.'), ...MARK }, text('Page 2.')] };
    const found = { type: 'search_result' as const, title: 'Sea', source: 'https://sea.test' };
    const said = [
      { type: 'document' as const, title: 'Log', source },
      { ...found, content: [{ ...text('Salt.'), ...MARK }, text('Water.')] },
    ];
    const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: said };
    const [, called] = MARKED.messages;
    const messages = [{ role: 'user' as const, content: said }, called, { role: 'user' as const, content: [result] }];
    await anthropic(service).messages.create({ ...HELLO, model: 'tested', messages } as never);
    const parts = [
      text('Log'),
      { ...text('Page 1.'), ...MARK },
      text('Page 2.'),
      { ...text('Sea\nhttps://sea.test\nSalt.\nWater.'), ...MARK },
    ];
    expect(sent()).toMatchObject({ messages: [{ content: parts }, {}, { role: 'tool', content: parts }] });
  });

  it.each([
    [
      'an empty text',
      'messages[].content[]',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '', ...MARK },
              { type: 'text', text: 'Hi' },
            ],
          },
        ],
      },
    ],
    [
      'thinking',
      'messages[].content[]',
      {
        messages: [
          ...HELLO.messages,
          { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 'foreign', ...MARK }] },
        ],
      },
    ],
    ['a tool', 'tools[]', { messages: HELLO.messages, tools: [{ ...LOOK, ...MARK }] }],
  ])('cache_control of %s is said in the log to have no effect, for any model', async (_, place, request) => {
    await using fresh = await startChatService({ provider: { forward: ['cache_control'] } });
    using log = ServiceLog.begin();
    await anthropic(fresh).messages.countTokens({ model: 'tested', ...request } as never);
    expect(log.complaints).toEqual([expect.stringContaining(`"${place}.cache_control", which has no effect here`)]);
  });

  it('cache_control leaves what is not marked as short as it was', async () => {
    const { system: _, ...rest } = MARKED;
    await anthropic(service).messages.create({ ...rest, system: [{ type: 'text', text: 'Be brief.' }] });
    expect(sent()).toMatchObject({ messages: [{ role: 'system', content: 'Be brief.' }, {}, {}, {}] });
  });

  it('cache_control of a message has its tokens in the usage, written and read', async () => {
    const details = { cached_tokens: 20, cache_write_tokens: 30 };
    const usage = { prompt_tokens: 60, completion_tokens: 2, total_tokens: 62, prompt_tokens_details: details };
    service.upstream.answer({ text: 'Hi.', usage });
    const message = await anthropic(service).messages.create(MARKED);
    expect(message.usage).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 30,
    });
  });

  it('cache_control of a completion reaches an upstream that takes it', async () => {
    const part = { type: 'text' as const, text: 'Hi', ...MARK };
    const answer = { role: 'assistant' as const, content: [{ ...part, text: 'Hello.' }] };
    const messages = [{ role: 'user' as const, content: [part] }, answer, { role: 'user' as const, content: [part] }];
    await service.client().chat.completions.create({ model: 'tested', messages });
    expect(sent()).toMatchObject({ messages });
  });

  it('cache_control is said once in the log to have no effect on another upstream', async () => {
    using log = ServiceLog.begin();
    const { max_tokens: _, ...counted } = { ...MARKED, model: 'plain' };
    for (let times = 0; times < 2; times += 1) await anthropic(service).messages.countTokens(counted);
    const lines = log.complaints.filter((line) => line.includes('cache_control'));
    expect(lines).toEqual([expect.stringContaining('`forward: [cache_control]` in PROVIDERS_FILE hands it on')]);
  });

  it('cache_control that is no object is refused', async () => {
    const content = [{ type: 'text', text: 'Hi', cache_control: 'ephemeral' }];
    const asked = anthropic(service).messages.create({ ...HELLO, messages: [{ role: 'user', content }] } as never);
    await expect(asked).rejects.toThrow("Invalid type for 'messages[0].content[0].cache_control'");
  });
});

describe('cache_control, where unknown parameters are refused', () => {
  const strict = useService(() => startService({ environment: { UNKNOWN_PARAMETERS: 'reject' } }));

  it('cache_control is refused in a completion where unknown parameters are, and has no effect in a message, whose API has it', async () => {
    const content = [{ type: 'text' as const, text: 'Hi', ...MARK }];
    const messages = [{ role: 'user' as const, content }];
    const param = 'messages[0].content[0].cache_control';
    const asked = strict.client().chat.completions.create({ model: 'scripted', messages });
    await expect(asked).rejects.toMatchObject({ status: 400, code: 'unknown_parameter', param });
    expect(await anthropic(strict).messages.create({ ...HELLO, messages })).toMatchObject({ type: 'message' });
  });
});
