import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it } from '@jest/globals';

import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';

const HELLO = { model: 'tested', max_tokens: 4000, messages: [{ role: 'user' as const, content: 'Look.' }] };
const THINKING = { thinking: { type: 'enabled' as const, budget_tokens: 1024 } };
const LOOK = { name: 'look', input_schema: { type: 'object' as const, properties: { at: { type: 'integer' } } } };
const CALLS = {
  reasoning: ['I have', ' to look.'],
  text: ['Let me', ' see.'],
  toolCalls: [
    { name: 'look', arguments: ['{"at"', ':1}'] },
    { name: 'look', arguments: '{"at":2}' },
  ],
};

const service = useService(() => startChatService({ provider: { capabilities: { reasoning_replay: 'reasoning' } } }));

const client = (): Anthropic => new Anthropic({ baseURL: service.origin, apiKey: 'any', maxRetries: 0 });

async function ask(body: Partial<MessageCreateParamsNonStreaming>, stream: boolean): Promise<Anthropic.Message> {
  const request = { ...HELLO, tools: [LOOK], ...body };
  return stream ? client().messages.stream(request).finalMessage() : client().messages.create(request);
}

/** The body of the last request that the upstream got. */
function lastBody(): { readonly messages: readonly Record<string, unknown>[] } & Record<string, unknown> {
  return service.upstream.requests.at(-1)?.body as ReturnType<typeof lastBody>;
}

/** An answer that is sent back, and the results of its calls. */
function withResults(content: readonly Anthropic.ContentBlock[]): Anthropic.MessageParam[] {
  const results = content
    .filter(({ type }) => type === 'tool_use')
    .map((block) => ({
      type: 'tool_result' as const,
      tool_use_id: (block as Anthropic.ToolUseBlock).id,
      content: 'A sea.',
    }));
  return [
    { role: 'assistant', content: content as Anthropic.ContentBlockParam[] },
    { role: 'user', content: results },
  ];
}

describe.each([
  ['whole', false],
  ['streamed', true],
])('a message that is %s, from an upstream with Chat Completions', (_, stream) => {
  it('a message has thinking, text and parallel calls, which go on with their results', async () => {
    service.upstream.answer(CALLS);
    const message = await ask(THINKING, stream);
    expect(message).toMatchObject({
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'I have to look.', signature: expect.stringMatching(/^antiphon\./) },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', name: 'look', input: { at: 1 } },
        { type: 'tool_use', name: 'look', input: { at: 2 } },
      ],
      usage: { input_tokens: 11, output_tokens: 7 },
    });

    await ask({ messages: [...HELLO.messages, ...withResults(message.content)] }, stream);
    expect(lastBody().messages).toMatchObject([
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: 'Let me see.', reasoning: 'I have to look.', tool_calls: [{}, {}] },
      { role: 'tool', content: 'A sea.' },
      { role: 'tool', content: 'A sea.' },
    ]);
  });

  it('a message has no thinking where none is asked for, and an empty one where its text is not', async () => {
    const { toolCalls: _, ...text } = CALLS;
    service.upstream.answer(text).answer(CALLS);
    const hidden = await ask({}, stream);
    expect(hidden.content.map(({ type }) => type)).toEqual(['text']);
    const omitted = await ask({ thinking: { type: 'adaptive', display: 'omitted' } }, stream);
    expect(omitted.content[0]).toMatchObject({
      type: 'thinking',
      thinking: '',
      signature: expect.stringMatching(/^antiphon\./),
    });
  });

  it('a message has thinking that cannot be read before calls where none is asked for, which goes on with their results', async () => {
    service.upstream.answer(CALLS);
    const { content } = await ask({}, stream);
    expect(content.map(({ type }) => type)).toEqual(['text', 'redacted_thinking', 'tool_use', 'tool_use']);
    expect(JSON.stringify(content)).not.toContain('I have');
    await ask({ messages: [...HELLO.messages, ...withResults(content)] }, stream);
    expect(lastBody().messages[1]).toMatchObject({
      content: 'Let me see.',
      reasoning: 'I have to look.',
      tool_calls: [{}, {}],
    });
  });

  it.each([
    ['with thinking', THINKING],
    ['without thinking', {}],
  ])('a message carries what an upstream demands back, which no client can read, %s', async (_name, thinking) => {
    const recorded = join(import.meta.dirname, '../fixtures/dialects/gemini-tools.chunks.txt');
    service.upstream.replay(readFileSync(recorded, 'utf8'));
    const tools = { tools: [{ ...LOOK, name: 'get_weather' }], ...thinking };
    const { content } = await ask(tools, stream);
    expect(JSON.stringify(content)).not.toContain('CiQBcsjafAbc');
    await ask({ ...tools, messages: [...HELLO.messages, ...withResults(content)] }, stream);
    const signed = { extra_content: { google: { thought_signature: 'CiQBcsjafAbc==' } } };
    expect(lastBody().messages[1]?.['tool_calls']).toMatchObject([signed, signed]);
  });

  it('a message leaves out thinking of others, and thinking that was changed', async () => {
    service.upstream.answer(CALLS);
    const { content } = await ask(THINKING, stream);
    const { signature } = content[0] as Anthropic.ThinkingBlock;
    const at = signature.length - 8;
    const changed = signature.slice(0, at) + (signature[at] === 'A' ? 'B' : 'A') + signature.slice(at + 1);
    const thoughts = ['EqQBCkYIBxgC', changed].map((each) => ({
      type: 'thinking' as const,
      thinking: 'Secret.',
      signature: each,
    }));
    const text = { type: 'text' as const, text: 'Well.' };
    await ask(
      { messages: [...HELLO.messages, { role: 'assistant', content: [...thoughts, text] }, ...HELLO.messages] },
      stream,
    );
    expect(lastBody().messages[1]).toEqual({ role: 'assistant', content: 'Well.' });
  });

  it('a message is refused with 429, and when to try again', async () => {
    service.upstream.refuse(429, undefined, { 'retry-after': '7' });
    const refusal: unknown = await ask({}, stream).catch((error: unknown) => error);
    if (!(refusal instanceof Anthropic.RateLimitError)) throw new Error('it was not refused');
    expect([refusal.headers.get('retry-after'), refusal.error]).toMatchObject([
      '7',
      { error: { type: 'rate_limit_error' } },
    ]);
  });
});
