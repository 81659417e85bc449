import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';

import type { ChatAnswer } from '../support/chat-upstream/chat-answer.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';

const FOLDER = join(import.meta.dirname, '../fixtures/dialects');
const ENDING = '.chunks.txt';

/** Recorded streams whose members mean the same to every client; those of other vendors are translated on purpose (test/chat). */
const RECORDED = readdirSync(FOLDER).filter((name) =>
  /^(openai|vllm|sglang|llama-cpp|deepseek)-.*\.chunks\.txt$/.test(name),
);

/** Members that the turn does not know: the operator lets them through. */
const FORWARDED = ['seed', 'logit_bias', 'stop', 'service_tier', 'safety_identifier', 'top_k', 'cache_control'];

const SEED = 11;

const service = useService(() =>
  startChatService({
    provider: { dialect: 'openai', forward: FORWARDED },
    providersBeside: { plain: { base_url: 'http://127.0.0.1:9/v1', dialect: 'generic' } },
    models: [
      { name: MODEL, provider: 'upstream', model: 'upstream-model' },
      { name: 'plain', provider: 'plain' },
    ],
  }),
);

const through = (): OpenAI => service.client();
const direct = (): OpenAI => new OpenAI({ apiKey: 'test', baseURL: service.upstream.baseUrl, maxRetries: 0 });

/** What a client sees of an answer. */
interface Seen {
  content: string;
  refusal: string;
  reasoning: string;
  calls: { id: unknown; name: unknown; arguments: string }[];
  logprobs: unknown[];
  finish: unknown;
  usage: unknown;
}

type Members = Readonly<Record<string, unknown>>;

/** Adds a message or a delta to what was seen. */
function see(seen: Seen, said: Members): void {
  seen.content += (said['content'] as string | null | undefined) ?? '';
  seen.refusal += (said['refusal'] as string | null | undefined) ?? '';
  seen.reasoning += (said['reasoning_content'] ?? said['reasoning'] ?? '') as string;
  for (const [place, call] of ((said['tool_calls'] ?? []) as readonly Members[]).entries()) {
    const index = (call['index'] as number | undefined) ?? place;
    const { name, arguments: json } = call['function'] as { name?: string; arguments?: string };
    const known = (seen.calls[index] ??= { id: call['id'], name, arguments: '' });
    known.arguments += json ?? '';
  }
}

function nothing(): Seen {
  return { content: '', refusal: '', reasoning: '', calls: [], logprobs: [], finish: null, usage: null };
}

function countsOf(usage: OpenAI.CompletionUsage | null | undefined): unknown {
  if (usage == null) return null;
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  const { cached_tokens: cached = 0 } = usage.prompt_tokens_details ?? {};
  return { input, output, total, cached };
}

async function stream(client: OpenAI, messages: readonly ChatCompletionMessageParam[], more: object): Promise<Seen> {
  const request = {
    model: MODEL,
    messages: [...messages],
    stream: true as const,
    stream_options: { include_usage: true },
  };
  const seen = nothing();
  for await (const chunk of await client.chat.completions.create({ ...request, ...more })) {
    if (chunk.usage != null) seen.usage = countsOf(chunk.usage);
    for (const { delta, finish_reason: finish, logprobs } of chunk.choices) {
      see(seen, delta as Members);
      seen.logprobs.push(...(logprobs?.content ?? []));
      seen.finish = finish ?? seen.finish;
    }
  }
  return seen;
}

async function whole(client: OpenAI, messages: readonly ChatCompletionMessageParam[], more: object): Promise<Seen> {
  const request = { model: MODEL, messages: [...messages], stream: false as const };
  const completion = await client.chat.completions.create({ ...request, ...more });
  const seen = nothing();
  for (const { message, finish_reason: finish, logprobs } of completion.choices) {
    see(seen, message as unknown as Members);
    seen.logprobs.push(...(logprobs?.content ?? []));
    seen.finish = finish;
  }
  seen.usage = countsOf(completion.usage);
  return seen;
}

const HI: readonly ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hi' }];
const TOOLS = ['look', 'weather', 'get_weather'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object', properties: {} } },
}));

// Text: any characters but halves of pairs, and none of them empty.
const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });
const pieces = fc.array(text, { minLength: 1, maxLength: 4 });
const json = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.oneof(text, fc.integer()), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

const answer: fc.Arbitrary<ChatAnswer> = fc.record(
  {
    reasoning: pieces,
    text: pieces,
    toolCalls: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('look', 'weather'),
        arguments: json.map((whole) => [whole.slice(0, 1), whole.slice(1)]),
        id: fc.stringMatching(/^call_[a-z0-9]{6}$/),
      }),
      { maxLength: 3, selector: ({ id }) => id },
    ),
    finish: fc.constantFrom('length', 'content_filter'),
    usage: fc.record({ input: fc.nat(1000), output: fc.nat(1000) }).map(({ input, output }) => ({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: Math.floor(input / 2) },
    })),
  },
  { requiredKeys: [] },
);

it.each([
  ['streamed', stream],
  ['whole', whole],
] as const)('Chat Completions shows any answer as its upstream gives it: %s', async (_form, read) => {
  await fc.assert(
    fc.asyncProperty(answer, async (said) => {
      const tools = { tools: TOOLS, max_completion_tokens: 1000 };
      service.upstream.answer(said);
      const expected = await read(direct(), HI, tools);
      service.upstream.answer(said);
      expect(await read(through(), HI, tools)).toEqual(expected);
    }),
    { seed: SEED, numRuns: 40 },
  );
});

it.each(RECORDED)('Chat Completions shows what is recorded as it is: %s', async (name) => {
  const recorded = readFileSync(join(FOLDER, name), 'utf8');
  service.upstream.replay(recorded);
  const expected = await stream(direct(), HI, { tools: TOOLS });
  service.upstream.replay(recorded);
  expect(await stream(through(), HI, { tools: TOOLS })).toEqual(expected);
});

it('Chat Completions shows log probabilities as they are', async () => {
  const tokens = ['One', ' two'].map((token) => ({
    token,
    logprob: -0.5,
    bytes: [1],
    top_logprobs: [{ token: 'x', logprob: -1, bytes: [2] }],
  }));
  const said = { text: ['One', ' two'], logprobs: tokens.map((token) => [token]) };
  for (const read of [stream, whole]) {
    service.upstream.answer(said);
    const expected = await read(direct(), HI, { logprobs: true, top_logprobs: 1 });
    service.upstream.answer(said);
    expect(await read(through(), HI, { logprobs: true, top_logprobs: 1 })).toEqual(expected);
    expect(expected.logprobs).toEqual(tokens);
  }
});

// Where a prompt may be cached.
const mark = fc.constantFrom<object>(
  { prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } },
  { cache_control: { type: 'ephemeral', ttl: '1h' } },
);

// The calls of an answer are followed by their outputs, and no two answers by each other: a turn has no other history.
const exchange = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content: text }).map((message) => [message]),
  fc.tuple(text, fc.constantFrom(undefined, 'low', 'high')).map(([said, detail]) => [
    {
      role: 'user',
      content: [
        { type: 'text', text: said },
        {
          type: 'image_url',
          image_url: { url: 'data:image/png;base64,aGVsbG8=', ...(detail === undefined ? {} : { detail }) },
        },
        { type: 'file', file: { file_data: 'data:text/plain;base64,aGVsbG8=', filename: 'a.txt' } },
      ],
    },
  ]),
  fc.tuple(text, text).map(([question, content]) => [
    { role: 'user', content: question },
    { role: 'assistant', content },
  ]),
  fc
    .tuple(fc.constantFrom('system', 'user'), text, mark)
    .map(([role, said, marked]) => [{ role, content: [{ type: 'text', text: said, ...marked }] }]),
  fc
    .tuple(text, fc.option(text), fc.array(fc.tuple(json, text), { minLength: 1, maxLength: 3 }), fc.nat())
    .map(([question, content, calls, n]) => [
      { role: 'user', content: question },
      {
        role: 'assistant',
        content,
        tool_calls: calls.map(([args], index) => ({
          id: `call_${n}_${index}`,
          type: 'function',
          function: { name: 'look', arguments: args },
        })),
      },
      ...calls.map(([, output], index) => ({ role: 'tool', tool_call_id: `call_${n}_${index}`, content: output })),
    ]),
);

const settings = fc.record(
  {
    temperature: fc.constantFrom(0, 0.5, 2),
    top_p: fc.constantFrom(0.1, 1),
    presence_penalty: fc.constantFrom(-2, 1),
    frequency_penalty: fc.constantFrom(-2, 1),
    max_completion_tokens: fc.integer({ min: 1, max: 100 }),
    reasoning_effort: fc.constantFrom('low', 'high'),
    verbosity: fc.constantFrom('low', 'high'),
    user: text,
    prompt_cache_key: text,
    parallel_tool_calls: fc.boolean(),
    tool_choice: fc.constantFrom<unknown>(
      'auto',
      'none',
      'required',
      { type: 'function', function: { name: 'look' } },
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'weather' } }] },
      },
    ),
    response_format: fc.constantFrom<unknown>({
      type: 'json_schema',
      json_schema: {
        name: 'report',
        strict: true,
        schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
      },
    }),
    seed: fc.integer(),
    logit_bias: fc.constant({ 50256: -100 }),
    stop: fc.constantFrom<unknown>('END', ['END', 'STOP']),
    service_tier: fc.constantFrom('auto', 'flex'),
    safety_identifier: text,
    top_k: fc.nat(),
  },
  { requiredKeys: [] },
);

it('Chat Completions sends any request as its client has sent it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(exchange, { minLength: 1, maxLength: 4 }), settings, async (exchanges, more) => {
      // An answer must not come last: the upstream would go on with it.
      const messages = [...exchanges.flat(), { role: 'user', content: 'Go on.' }];
      const request = { messages, tools: TOOLS, ...more };
      await service.client().chat.completions.create({ model: MODEL, ...request } as never);
      const {
        model: _model,
        stream: _stream,
        stream_options: _options,
        ...sent
      } = service.upstream.requests.at(-1)?.body ?? {};
      const plain = { ...sent, messages: sent.messages?.map(withoutToolName) };
      expect(plain).toEqual(request);
    }),
    { seed: SEED, numRuns: 60 },
  );
});

/** Upstreams like to be told whose output it is. */
function withoutToolName(message: Members): Members {
  const { name: _, ...rest } = message;
  return message['role'] === 'tool' ? rest : message;
}

it('Chat Completions carries what an upstream demands back, which no client can read', async () => {
  const signed = { extra_content: { google: { thought_signature: 'CiQBcsjafAbc==' } } };
  service.upstream.replay(readFileSync(join(FOLDER, `gemini-tools${ENDING}`), 'utf8')).answer({ text: 'Rain.' });
  const { choices } = await service
    .client()
    .chat.completions.stream({ model: MODEL, messages: [...HI], tools: TOOLS })
    .finalChatCompletion();
  const message = choices[0]?.message as unknown as ChatCompletionMessageParam & { tool_calls: { id: string }[] };
  expect(JSON.stringify(message)).not.toContain('CiQBcsjafAbc');
  const outputs = message.tool_calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'rain' }));
  await service
    .client()
    .chat.completions.create({ model: MODEL, messages: [...HI, message, ...outputs], tools: TOOLS });
  const answered = service.upstream.requests.at(-1)?.body.messages?.[1];
  expect(answered?.['tool_calls']).toMatchObject([signed, signed]);
});

it('Chat Completions refuses what only another upstream would get', async () => {
  const asked = service.api.post('chat/completions', { model: 'plain', messages: HI, seed: 1 });
  expect(await asked).toMatchObject({ status: 400, body: { error: { param: 'seed', code: 'unsupported_parameter' } } });
});
