import type { BetaJSONOutputFormat } from '@anthropic-ai/sdk/resources/beta/messages';
import type * as Beta from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type * as Anthropic from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it } from '@jest/globals';
import type * as Chat from 'openai/resources/chat/completions';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';
import { HELLO, LOOK } from './anthropic.js';

/**
 * What becomes of a member: it changes the `turn`, that is what the model is asked or how it is stored, or the `answer`; it is `refused` by
 * its name; or it is `ignored`, which the log says.
 */
type Fate = 'turn' | 'answer' | 'refused' | 'ignored';

/** Every member that a type of an SDK has: this file does not compile when a new version adds one. */
type Complete<T> = Readonly<Record<keyof T, readonly [fate: Fate, value: unknown, beside?: object]>>;

const FUNCTION = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

const CHAT: Complete<Omit<Chat.ChatCompletionCreateParamsBase, 'model' | 'messages'>> = {
  audio: ['refused', { voice: 'alloy', format: 'wav' }],
  frequency_penalty: ['turn', 1],
  function_call: ['refused', 'auto'],
  functions: ['refused', [{ name: 'look' }]],
  logit_bias: ['refused', { 1: 1 }],
  logprobs: ['turn', true],
  max_completion_tokens: ['turn', 7],
  max_tokens: ['turn', 7],
  metadata: ['turn', { topic: 'rain' }],
  modalities: ['refused', ['text', 'audio']],
  moderation: ['refused', { model: 'omni-moderation-latest' }],
  n: ['refused', 2],
  parallel_tool_calls: ['turn', false],
  prediction: ['refused', { type: 'content', content: 'Hi' }],
  presence_penalty: ['turn', 1],
  prompt_cache_key: ['turn', 'key'],
  prompt_cache_options: ['turn', { ttl: '12h' }],
  prompt_cache_retention: ['turn', '24h'],
  reasoning_effort: ['turn', 'low'],
  response_format: ['turn', { type: 'json_object' }],
  safety_identifier: ['turn', 'somebody'],
  seed: ['refused', 1],
  service_tier: ['turn', 'flex'],
  stop: ['answer', 'wo'],
  store: ['turn', true],
  stream: ['answer', true],
  stream_options: ['answer', { include_usage: true }, { stream: true }],
  temperature: ['turn', 0.5],
  tool_choice: ['turn', 'required', { tools: [FUNCTION] }],
  tools: ['turn', [FUNCTION]],
  top_logprobs: ['turn', 2, { logprobs: true }],
  top_p: ['turn', 0.5],
  user: ['turn', 'somebody'],
  verbosity: ['turn', 'low'],
  web_search_options: ['refused', {}],
};

const SCHEMA = { type: 'object', properties: {}, required: [], additionalProperties: false };

const FORMAT: BetaJSONOutputFormat = { type: 'json_schema', schema: SCHEMA };

type AnthropicParams = Anthropic.MessageCreateParamsNonStreaming & Beta.MessageCreateParamsNonStreaming;

const MESSAGES: Complete<Omit<AnthropicParams, 'model' | 'messages'>> = {
  betas: ['ignored', ['one-2026-01-01']],
  billing_policy: ['ignored', { type: 'billing_policy', bill_to: 'self' }],
  cache_control: ['ignored', { type: 'ephemeral' }],
  compaction: ['refused', {}],
  container: ['refused', 'container_1'],
  context_management: ['ignored', { edits: [] }],
  diagnostics: ['ignored', {}],
  fallback_credit_token: ['ignored', 'token'],
  fallbacks: ['ignored', 'default'],
  inference_geo: ['ignored', 'eu'],
  max_tokens: ['turn', 7],
  mcp_servers: ['refused', [{ type: 'url', name: 'docs' }]],
  metadata: ['turn', { user_id: 'somebody' }],
  output_config: ['turn', { effort: 'low' }],
  output_format: ['turn', FORMAT],
  service_tier: ['turn', 'standard_only'],
  speed: ['ignored', 'fast'],
  stop_sequences: ['answer', ['wo']],
  stream: ['answer', true],
  system: ['turn', 'Be brief.'],
  thinking: ['turn', { type: 'adaptive' }],
  thread: ['refused', { type: 'create' }],
  tool_choice: ['turn', { type: 'any' }, { tools: [LOOK] }],
  tools: ['turn', [LOOK]],
  user_profile_id: ['ignored', 'profile'],
  workspace_id: ['ignored', 'workspace'],
};

/** What the types of the SDK have lost, and clients still send. */
const OLDER = { temperature: ['turn', 0.5], top_k: ['ignored', 5], top_p: ['turn', 0.5] } as const;

// What marks do is tested in cache-marks.spec.ts.
const TOOL: Complete<Omit<Anthropic.Tool & Beta.BetaTool, 'name' | 'input_schema' | 'cache_control'>> = {
  allowed_callers: ['ignored', ['direct']],
  defer_loading: ['ignored', true],
  description: ['turn', 'Looks.'],
  // It is how all input is streamed.
  eager_input_streaming: ['answer', true],
  input_examples: ['ignored', [{}]],
  strict: ['turn', true],
  type: ['answer', 'custom'],
};

type Own<T> = Complete<Omit<T, 'type' | 'cache_control'>>;

const IMAGE = { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' };

/** Members of blocks, beside the least that a block needs. */
const BLOCKS: readonly (readonly [least: object, members: Readonly<Record<string, readonly [Fate, unknown]>>])[] = [
  [
    { type: 'text', text: 'Hi.' },
    // Of an answer that is sent back.
    { text: ['turn', 'Ho.'], citations: ['answer', []] } satisfies Own<
      Anthropic.TextBlockParam & Beta.BetaTextBlockParam
    >,
  ],
  [
    { type: 'image', source: IMAGE },
    {
      source: ['turn', { ...IMAGE, data: 'aGFsbG8=' }],
      transformations: ['ignored', { resize: {} }],
    } satisfies Own<Anthropic.ImageBlockParam & Beta.BetaImageBlockParam>,
  ],
  [
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A log.' } },
    {
      source: ['turn', { type: 'content', content: 'Another log.' }],
      citations: ['ignored', { enabled: true }],
      context: ['turn', 'Of a ship.'],
      title: ['turn', 'Log'],
    } satisfies Own<Anthropic.DocumentBlockParam & Beta.BetaRequestDocumentBlock>,
  ],
  [
    { type: 'search_result', title: 'Sea', source: 'https://sea.test', content: [{ type: 'text', text: 'Salt.' }] },
    {
      content: ['turn', []],
      source: ['turn', 'https://lake.test'],
      title: ['turn', 'Lake'],
      citations: ['ignored', { enabled: true }],
    } satisfies Own<Anthropic.SearchResultBlockParam & Beta.BetaSearchResultBlockParam>,
  ],
];

const CHAT_FUNCTION: Complete<Omit<Chat.ChatCompletionFunctionTool['function'], 'name'>> = {
  description: ['turn', 'Looks.'],
  parameters: ['turn', SCHEMA],
  strict: ['turn', true],
};

const service = useService({ providers: [ScriptedProvider] });

/** What a client and a model see of a request, and what the operator is told. */
async function ask(path: string, body: object) {
  using log = ServiceLog.begin();
  service.provider.turns.length = 0;
  service.provider.reply({ type: 'text', delta: 'one two' });
  const answer = await fetch(`${service.baseURL}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { parameters, context, include } = service.provider.turns[0] ?? {};
  return {
    status: answer.status,
    text: await answer.text(),
    turn: JSON.stringify([parameters, context?.map(({ id: _, ...item }) => item), include]),
    log: log.complaints.join('\n'),
  };
}

type Asked = Awaited<ReturnType<typeof ask>>;

/** The answer without what differs between two of the same request. */
const bare = ({ text }: Asked): string =>
  text.replaceAll(/"(?:id|created|obfuscation|request_id)":(?:"[^"]*"|\d+),?/g, '');

function expectFate(
  fate: Fate,
  name: string,
  { asked, plain }: { readonly asked: Asked; readonly plain: Asked },
): void {
  if (fate === 'refused') {
    expect([asked.status, asked.text]).toEqual([400, expect.stringContaining(name)]);
    return;
  }
  expect([asked.status, asked.text]).toEqual([200, expect.anything()]);
  if (fate === 'turn') expect(asked.turn).not.toBe(plain.turn);
  if (fate === 'ignored') expect(asked.log).toContain(name);
  else expect(asked.log).toBe('');
}

const rows = (table: object) => Object.entries(table) as [string, readonly [Fate, unknown, object?]][];

describe.each([
  [
    'a completion',
    'chat/completions',
    { model: 'scripted', messages: [{ role: 'user', content: 'JSON, please.' }] },
    CHAT,
  ],
  ['a message', 'messages', HELLO, { ...MESSAGES, ...OLDER }],
] as const)('each member of the request of %s', (_, path, least, table) => {
  it.each(rows(table))(
    'each member of a request has its effect, is refused, or is said to be ignored: %s',
    async (name, [fate, value, beside]) => {
      const plain = await ask(path, { ...least, ...beside });
      const asked = await ask(path, { ...least, ...beside, [name]: value });
      expectFate(fate, name, { asked, plain });
      if (fate === 'answer') expect(bare(asked)).not.toBe(bare(plain));
    },
  );
});

describe('each member of a block', () => {
  it.each(BLOCKS.flatMap(([least, members]) => rows(members).map(([name, row]) => [name, least, row] as const)))(
    'each member of a block has its effect, or is said to be ignored: %s of %j',
    async (name, least, [fate, value]) => {
      const asking = (block: object) => ask('messages', { ...HELLO, messages: [{ role: 'user', content: [block] }] });
      expectFate(fate, name, { asked: await asking({ ...least, [name]: value }), plain: await asking(least) });
    },
  );
});

describe('each member of a tool', () => {
  it.each(rows(TOOL))(
    'each member of a tool of a message has its effect, or is said to be ignored: %s',
    async (name, [fate, value]) => {
      const least = { name: 'look', input_schema: SCHEMA };
      const plain = await ask('messages', { ...HELLO, tools: [least] });
      const asked = await ask('messages', { ...HELLO, tools: [{ ...least, [name]: value }] });
      expectFate(fate, name, { asked, plain });
    },
  );

  it.each(rows(CHAT_FUNCTION))(
    'each member of a tool of a completion has its effect: %s',
    async (name, [fate, value]) => {
      const body = (members: object) => ({
        ...{ model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] },
        tools: [{ type: 'function', function: { name: 'look', ...members } }],
      });
      const plain = await ask('chat/completions', body({}));
      expectFate(fate, name, { asked: await ask('chat/completions', body({ [name]: value })), plain });
    },
  );
});
