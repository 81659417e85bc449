// Slow: three routes, a request for each place of their bodies and each wrong value.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ScriptedProvider } from '../../src/testing/index.js';
import { describeService } from '../support/describe-service.js';

const { SEED = '5', RUNS = '200' } = process.env;
const PICTURE = 'iVBORw0KGgo=';
const SCHEMA = {
  type: 'object',
  properties: { at: { type: 'integer' } },
  required: ['at'],
  additionalProperties: false,
};

/** A request of Messages with all that may be said. */
const MESSAGES = {
  model: 'scripted',
  max_tokens: 100,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See.' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
        { type: 'document', title: 'A', context: 'B', source: { type: 'text', media_type: 'text/plain', data: 'C' } },
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'D' }] } },
        { type: 'search_result', source: 'E', title: 'F', content: [{ type: 'text', text: 'G' }] },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'H', signature: 'antiphon.I' },
        { type: 'redacted_thinking', data: 'J' },
        { type: 'text', text: 'K', citations: null },
        { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 1 }, caller: { type: 'direct' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', is_error: true, content: [{ type: 'text', text: 'L' }] },
        { type: 'text', text: 'M' },
      ],
    },
    { role: 'system', content: 'N' },
  ],
  tools: [
    { type: 'custom', name: 'look', description: 'Looks.', input_schema: SCHEMA, strict: true },
    {
      type: 'mcp_toolset',
      mcp_server_name: 'cards',
      default_config: { enabled: false },
      configs: { deal: { enabled: true } },
    },
  ],
  mcp_servers: [
    { type: 'url', name: 'dice', url: 'https://dice.example/mcp', tool_configuration: { allowed_tools: ['roll'] } },
    { type: 'url', name: 'cards', url: 'https://cards.example/mcp', authorization_token: 'secret' },
  ],
  tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  stop_sequences: ['END'],
  temperature: 1,
  top_p: 1,
  stream: false,
};

/** A request of Chat Completions with all that may be said. */
const CHAT = {
  model: 'scripted',
  messages: [
    { role: 'system', content: 'Be brief.', name: 'x' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See.', prompt_cache_breakpoint: { mode: 'explicit' } },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}`, detail: 'low' } },
        { type: 'file', file: { file_data: 'data:text/plain;base64,aGVsbG8=', filename: 'a.txt' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'A' },
        { type: 'refusal', refusal: 'B' },
      ],
      refusal: null,
      reasoning_content: 'C',
      reasoning_details: [{ type: 'reasoning.encrypted', id: 'rs_1', data: 'D', index: 0 }],
      annotations: [],
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } },
        { id: 'call_2', type: 'custom', custom: { name: 'shell', input: 'date' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'E' }] },
    { role: 'tool', tool_call_id: 'call_2', content: 'F' },
  ],
  tools: [
    { type: 'function', function: { name: 'look', description: 'Looks.', parameters: SCHEMA, strict: true } },
    {
      type: 'custom',
      custom: { name: 'shell', format: { type: 'grammar', grammar: { definition: 'start: /x/', syntax: 'lark' } } },
    },
  ],
  tool_choice: {
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
  },
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA, strict: true } },
  max_completion_tokens: 10,
  max_tokens: 10,
  logprobs: true,
  top_logprobs: 1,
  stop: ['END'],
  n: 1,
  modalities: ['text'],
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  reasoning_effort: 'low',
  verbosity: 'low',
  store: false,
  metadata: { a: 'b' },
  user: 'u',
  stream: false,
};

type Path = readonly (string | number)[];

/** The paths of all values within a value. */
function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, inner]) => pathsIn(inner, [...path, name]))];
}

/** A copy of a value that has another one at a path; undefined takes it away. */
function withValue(value: unknown, [name, ...rest]: Path, other: unknown): unknown {
  if (name === undefined) return other;
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? Array.from<unknown>(value) : { ...value };
  const members = copy as Record<string, unknown>;
  members[name] = withValue(members[name], rest, other);
  return copy;
}

const TYPES = [
  'function',
  'custom',
  'json_object',
  'auto',
  'any',
  'none',
  'url',
  'file',
  'text',
  'disabled',
  'adaptive',
];
/** Values of every type, nothing among them, that are wrong in most places. */
const SIMPLE: readonly unknown[] = [undefined, null, '', 'x', 0, [], {}, [null]];
const anything = fc.oneof(fc.constantFrom(...SIMPLE), fc.constantFrom(...TYPES), fc.jsonValue({ maxDepth: 3 }));

/** Another value in a place. */
type Change = readonly [place: Path, value: unknown];

describeService('a request with any JSON in it', { providers: [ScriptedProvider] }, (service) => {
  describe.each([
    ['messages', MESSAGES],
    ['messages/count_tokens', MESSAGES],
    ['chat/completions', CHAT],
  ])('for %s', (path, request) => {
    it('a request with any JSON in it is answered without a change', async () => {
      const { status, body } = await service.api.post(path, request);
      expect([status, body]).toEqual([200, body]);
    });

    /** The body of a failure; null for an answer and a refusal. */
    async function failureOf(changes: readonly Change[]): Promise<unknown> {
      const body = changes.reduce<unknown>((given, [place, value]) => withValue(given, place, value), request);
      const { status, body: answer } = await service.api.post(path, body ?? null);
      return status === 200 || (status >= 400 && status < 500) ? null : { changes, status, answer };
    }

    it.each(SIMPLE.map((value) => [value === undefined ? 'nothing' : JSON.stringify(value), value]))(
      'a request never fails with %s in any place of it',
      async (_name, value) => {
        for (const place of pathsIn(request)) expect(await failureOf([[place, value]])).toBeNull();
      },
    );

    it(`a request never fails with anything in two places of it (seed ${SEED})`, async () => {
      const change = fc.tuple(fc.constantFrom(...pathsIn(request)), anything);
      await fc.assert(
        fc.asyncProperty(change, change, async (...changes) => {
          expect(await failureOf(changes)).toBeNull();
        }),
        { seed: Number(SEED), numRuns: Number(RUNS) },
      );
    });
  });
});
