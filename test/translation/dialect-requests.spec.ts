import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { DIALECTS } from '../../src/providers/chat-completions/capabilities.js';
import type { UpstreamBody } from '../support/upstream-server.js';
import { Translation } from '../support/translation/translation.js';
import type { Members } from '../support/output.js';
import { assistant, functionCall, functionOutput, functionTool, user } from '../support/translation/user-items.js';

const SCHEMA = { type: 'object', properties: {}, required: [], additionalProperties: false };
const PICTURE = { type: 'input_image', image_url: 'https://example.com/a.png' };

/** A request in which servers differ. */
const REQUEST = {
  instructions: 'Be brief.',
  input: [
    { role: 'developer', content: 'Use metres.' },
    user('Look.'),
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'I look.' }] },
    functionCall('call_1', 'look'),
    functionOutput('call_1', 'the sea'),
    assistant('The sea.'),
    { role: 'system', content: 'Now use feet.' },
    user('And?'),
  ],
  tools: [functionTool('look', { parameters: SCHEMA, strict: true }), functionTool('listen', { parameters: SCHEMA })],
  tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] },
  text: { format: { type: 'json_schema', name: 'place', schema: SCHEMA }, verbosity: 'low' },
  reasoning: { effort: 'high' },
  max_output_tokens: 100,
  metadata: { team: 'a' },
  user: 'ada',
  top_logprobs: 1,
};

/** What of the request each server gets: the members beyond model and stream, without messages and tools. */
interface Expected {
  /** The roles of the messages. */
  readonly roles: string;
  /** What the assistant message with the call says of reasoning. */
  readonly reasoning?: Members;
  /** How the call is named in its output. */
  readonly callId?: unknown;
  readonly isNamed?: boolean;
  readonly isStrict?: boolean;
  readonly tools?: readonly string[];
  readonly members: Members;
}

const TOOL_ROLES = 'assistant tool assistant';
const ANYWHERE = `system system user ${TOOL_ROLES} system user`;
const FIRST = `system user ${TOOL_ROLES} user user`;
const RESPONSE_FORMAT = { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA } };
const PLAIN = {
  stream_options: { include_usage: true },
  tool_choice: 'required',
  response_format: RESPONSE_FORMAT,
  reasoning_effort: 'high',
  max_tokens: 100,
  metadata: { team: 'a' },
  user: 'ada',
  logprobs: true,
  top_logprobs: 1,
};

function without(members: Members, ...names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

const EXPECTED: Readonly<Record<(typeof DIALECTS)[number], Expected>> = {
  generic: { roles: ANYWHERE, members: PLAIN },
  openai: {
    roles: `developer developer user ${TOOL_ROLES} system user`,
    isStrict: true,
    tools: ['look', 'listen'],
    members: {
      ...without(PLAIN, 'max_tokens', 'metadata'),
      max_completion_tokens: 100,
      verbosity: 'low',
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] },
      },
    },
  },
  vllm: { roles: FIRST, reasoning: { reasoning: 'I look.' }, members: PLAIN },
  sglang: { roles: FIRST, reasoning: { reasoning_content: 'I look.' }, isStrict: true, members: PLAIN },
  'llama.cpp': { roles: FIRST, reasoning: { reasoning_content: 'I look.' }, members: PLAIN },
  ollama: { roles: ANYWHERE, reasoning: { reasoning: 'I look.' }, members: PLAIN },
  tgi: { roles: FIRST, members: without(PLAIN, 'reasoning_effort') },
  deepseek: {
    roles: ANYWHERE,
    reasoning: { reasoning_content: 'I look.' },
    members: { ...PLAIN, response_format: { type: 'json_object' }, thinking: { type: 'enabled' } },
  },
  groq: {
    roles: ANYWHERE,
    isNamed: false,
    members: { ...without(PLAIN, 'max_tokens', 'metadata', 'logprobs', 'top_logprobs'), max_completion_tokens: 100 },
  },
  mistral: {
    roles: ANYWHERE,
    callId: expect.stringMatching(/^[a-zA-Z0-9]{9}$/),
    isStrict: true,
    members: without(PLAIN, 'stream_options', 'reasoning_effort', 'user', 'logprobs', 'top_logprobs'),
  },
  openrouter: {
    roles: `developer developer user ${TOOL_ROLES} system user`,
    reasoning: { reasoning: 'I look.' },
    isStrict: true,
    members: { ...without(PLAIN, 'reasoning_effort'), reasoning: { effort: 'high' }, verbosity: 'low' },
  },
};

/** Servers that take no pictures, sounds or files. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  images: ['deepseek'],
  audio: ['deepseek', 'groq', 'ollama', 'sglang', 'tgi'],
  files: ['deepseek', 'groq', 'llama.cpp', 'mistral', 'ollama', 'sglang', 'tgi'],
};

const PARTS: Readonly<Record<string, object>> = {
  images: PICTURE,
  audio: { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
  files: { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0=' },
};

describe('requests in the dialect of', () => {
  let translation: Translation;

  beforeAll(async () => {
    const named = DIALECTS.map((dialect) => [dialect.replace('.', '-'), { dialect }] as const);
    translation = await Translation.start(Object.fromEntries(named));
  });

  afterAll(() => translation.close());

  const modelOf = (dialect: string): string => dialect.replace('.', '-');

  it.each(DIALECTS)('%s say everything that it understands', async (dialect) => {
    const {
      roles,
      reasoning = {},
      callId = 'call_1',
      isNamed = true,
      isStrict = false,
      tools = ['look'],
      members,
    } = EXPECTED[dialect];
    const body: UpstreamBody = await translation.sent({ ...REQUEST, model: modelOf(dialect) });
    const { model, stream, messages = [], tools: offered, ...rest } = body;
    expect({ model, stream }).toEqual({ model: 'upstream-model', stream: true });
    expect(rest).toEqual(members);
    expect(messages.map(({ role }) => role).join(' ')).toBe(roles);
    const call = messages.find((message) => 'tool_calls' in message);
    expect(call).toEqual({
      role: 'assistant',
      content: null,
      ...reasoning,
      tool_calls: [{ id: callId, type: 'function', function: { name: 'look', arguments: '{}' } }],
    });
    expect(messages.find(({ role }) => role === 'tool')).toEqual({
      role: 'tool',
      tool_call_id: callId,
      ...(isNamed ? { name: 'look' } : {}),
      content: 'the sea',
    });
    expect(offered).toEqual(
      tools.map((name) => ({
        type: 'function',
        function: { name, parameters: SCHEMA, ...(isStrict && name === 'look' ? { strict: true } : {}) },
      })),
    );
  });

  it.each(DIALECTS)('%s refuse what it does not take', async (dialect) => {
    for (const [kind, part] of Object.entries(PARTS)) {
      const request = { model: modelOf(dialect), input: [user([part])] };
      if (REFUSED[kind]?.includes(dialect) === true) {
        expect(await translation.refusal(request)).toMatchObject({
          status: 400,
          // What the service has tried to read itself has its place.
          error: { param: kind === 'files' ? 'input[0].content[0]' : 'input' },
          wasAsked: false,
        });
      } else expect(await translation.messages(request)).toHaveLength(1);
    }
  });

  it.each(DIALECTS)('%s demand a certain tool', async (dialect) => {
    const tool_choice = { type: 'function', name: 'look' };
    const body = await translation.sent({ model: modelOf(dialect), tools: REQUEST.tools, tool_choice });
    const isNamed = dialect !== 'llama.cpp';
    expect(body['tool_choice']).toEqual(isNamed ? { type: 'function', function: { name: 'look' } } : 'required');
    expect(body['tools']).toHaveLength(isNamed ? 2 : 1);
  });

  it.each(DIALECTS)('%s show pictures of tools where it sees them', async (dialect) => {
    const input = [functionCall('call_1', 'look'), functionOutput('call_1', [PICTURE])];
    const request = { model: modelOf(dialect), input };
    const roles = (await translation.messages(request)).map(({ role }) => role);
    expect(roles).toEqual(
      ['deepseek', 'vllm'].includes(dialect) ? ['assistant', 'tool'] : ['assistant', 'tool', 'user'],
    );
  });
});
