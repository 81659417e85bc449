import fc from 'fast-check';

import { anyCharacter } from './any-character.js';

/** JSON that `JSON.stringify` can write. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const FUNCTION = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string', enum: ['Rome'] } }, required: ['city'] },
};

/** Good requests which together have every member that the service looks at. */
export const SAMPLES: readonly Json[] = [
  { model: 'gpt-4.1', input: 'Hello' },
  {
    model: 'gpt-5',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Weather?' },
          { type: 'input_image', detail: 'low', image_url: 'data:image/png;base64,AAAA', file_id: null },
          { type: 'input_file', filename: 'a.pdf', file_data: 'AAAA', file_id: null, file_url: null },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'AAAA' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}', status: 'completed' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'Sunny' }] },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'grep', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'y' },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [
          { type: 'output_text', text: 'Sun.', annotations: [], logprobs: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { type: 'compaction', encrypted_content: 'AAAA' },
      { type: 'computer_call', call_id: 'call_3', action: { type: 'click', x: 1, y: 2 }, status: 'completed' },
      { type: 'computer_call_output', call_id: 'call_3', output: { type: 'computer_screenshot', image_url: 'x' } },
      { type: 'additional_tools', tools: [FUNCTION] },
      { type: 'from_the_future', anything: [{ goes: true }] },
      { role: 'user', content: 'And tomorrow?' },
    ],
    stream: true,
    stream_options: { include_obfuscation: false },
    reasoning: { effort: 'low', summary: 'auto' },
    text: { verbosity: 'low' },
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 64,
  },
  {
    model: 'gpt-4.1',
    input: 'Answer in JSON.',
    instructions: 'Be short.',
    text: {
      format: {
        type: 'json_schema',
        name: 'answer',
        strict: true,
        description: 'An answer',
        schema: {
          type: 'object',
          properties: { a: { type: 'integer', minimum: 1 }, b: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/b' }] } },
          required: ['a', 'b'],
          additionalProperties: false,
          $defs: { b: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } } },
        },
      },
    },
    metadata: { key: 'value' },
    temperature: 0.5,
    top_p: 0.5,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 2,
    user: 'me',
    safety_identifier: 'me',
    service_tier: 'auto',
    truncation: 'disabled',
    store: true,
  },
  {
    model: 'gpt-4.1',
    input: 'Call get_weather',
    tools: [
      FUNCTION,
      { type: 'custom', name: 'grep', format: { type: 'grammar', syntax: 'regex', definition: '[a-z]{3}' } },
      { type: 'web_search', filters: { allowed_domains: ['example.com'] } },
      { type: 'mcp', server_label: 's', server_url: 'https://example.com', require_approval: 'never' },
      { type: 'namespace', name: 'n', description: 'N', tools: [FUNCTION] },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_weather' }] },
    parallel_tool_calls: false,
    max_tool_calls: 3,
    prompt_cache_key: 'key',
    prompt_cache_retention: '24h',
    prompt_cache_options: { mode: 'implicit', ttl: '30m' },
    image: { context_compression: 'auto' },
    client_metadata: { anything: 1 },
    previous_response_id: null,
    conversation: null,
    prompt: null,
    background: false,
    moderation: null,
    context_management: null,
    access_programs: null,
  },
];

/** What is done to one place of a sample: JSON texts, because most of what hurts has no JavaScript value. */
export type Edit =
  | { readonly kind: 'replace'; readonly json: string }
  | { readonly kind: 'remove' }
  | { readonly kind: 'add'; readonly name: string; readonly json: string };

/** How many places a sample has: every value in it, itself included. */
export function countPlaces(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, member: Json) => sum + countPlaces(member), 1);
}

/** Writes a sample with one of its places changed. */
export function writeEdited(sample: Json, place: number, edit: Edit): string {
  let left = place;
  const write = (value: Json): string | undefined => {
    const here = left === 0;
    left -= 1;
    if (here && edit.kind === 'replace') return edit.json;
    if (here && edit.kind === 'remove') return undefined;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const isArray = Array.isArray(value);
    const members = Object.entries(value).flatMap(([name, member]) => {
      const text = write(member);
      if (text === undefined) return [];
      return [isArray ? text : `${JSON.stringify(name)}:${text}`];
    });
    if (here && edit.kind === 'add') members.push(isArray ? edit.json : `${edit.name}:${edit.json}`);
    return isArray ? `[${members.join()}]` : `{${members.join()}}`;
  };
  return write(sample) ?? '';
}

/** Values nested 10 000 levels deep, as JSON texts. */
export const DEEP_VALUES: readonly string[] = [
  '['.repeat(10_000) + ']'.repeat(10_000),
  '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  '[{"items":'.repeat(5_000) + '[]' + '}]'.repeat(5_000),
];

const NASTY_STRINGS = [
  '""',
  '" "',
  String.raw`"\u0000"`,
  String.raw`"\ud800"`,
  String.raw`"\udfff\ud800 x"`,
  String.raw`"a\u0000b\u0008\u001b[31m"`,
  '"\u{10ffff}\u202e\ufeff\u2028"',
  '"e\u0301\u0301\u0301\u0301"',
  '"<|endoftext|><|im_start|>"',
  `"${'x'.repeat(70_000)}"`,
  `"${'\u{1f600}'.repeat(3000)}"`,
  '"../../etc/passwd"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"hasOwnProperty"',
  '"resp_"',
  '"resp_01a1fbc39ad8717fb47718c657f7f585"',
  '"resp_\\r\\nx: y"',
];

const NASTY_NUMBERS = '0 -0 -1 1 0.1 1e400 -1e400 5e-324 9007199254740993 1E+2 4294967296'.split(' ');

const NASTY_OTHERS = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '[{}]',
  '["a",1,null,true,{}]',
  '{"__proto__":{"type":"object"}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"type":"__proto__"}',
  '{"type":"constructor"}',
  '{"type":null}',
  '{"type":"toString","content":"x"}',
  '{"type":"message"}',
  '{"type":"item_reference","id":"msg_1"}',
  '{"then":"x","toJSON":"x","valueOf":1,"toString":1,"length":-1}',
  '{"$ref":"#"}',
  '{"type":"string","pattern":"(a+)+$"}',
  '{"type":"array","minItems":1e9}',
  '{"type":"integer","multipleOf":0}',
  `[${'null,'.repeat(2000)}null]`,
  `{${Array.from({ length: 500 }, (_, index) => `"k${index}":${index}`).join()}}`,
];

/** The values that the random ones are drawn from as well, so that each can be tried in each place. */
export const NASTY_VALUES: readonly string[] = [...NASTY_STRINGS, ...NASTY_NUMBERS, ...NASTY_OTHERS];

const nastyValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_STRINGS) },
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_NUMBERS) },
  { weight: 5, arbitrary: fc.constantFrom(...NASTY_OTHERS) },
  { weight: 3, arbitrary: fc.json({ maxDepth: 4, stringUnit: anyCharacter }) },
  { weight: 1, arbitrary: fc.double().map((value) => (Number.isFinite(value) ? String(value) : '1e999')) },
);

const KNOWN_NAMES = ['model', 'input', 'type', 'role', 'content', 'id', 'call_id', 'name', 'tools', 'stream', 'text'];
const NASTY_NAMES = [...'__proto__ constructor prototype toString hasOwnProperty then toJSON 0'.split(' '), '', '\0'];

const nastyName = fc.constantFrom(...KNOWN_NAMES, ...NASTY_NAMES).map((name) => JSON.stringify(name));

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('replace' as const), json: nastyValue }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'remove' as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), name: nastyName, json: nastyValue }) },
);

/** Requests that are good but for one place. */
export const editedBody: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom(...SAMPLES), fc.nat(), edit)
  .map(([sample, place, change]) => writeEdited(sample, place % countPlaces(sample), change));

/** Requests that are no JSON any more, or other JSON than was meant: cut, and with bytes changed at random. */
export const damagedBody: fc.Arbitrary<Buffer> = fc
  .record({
    sample: fc.constantFrom(...SAMPLES),
    at: fc.nat(),
    kind: fc.constantFrom('cut', 'insert', 'overwrite', 'drop', 'prepend'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  })
  .map(({ sample, at, kind, bytes }) => {
    const body = Buffer.from(JSON.stringify(sample));
    const position = at % body.length;
    const [head, tail] = [body.subarray(0, position), body.subarray(position)];
    if (kind === 'cut') return head;
    if (kind === 'insert') return Buffer.concat([head, bytes, tail]);
    if (kind === 'overwrite') return Buffer.concat([head, bytes, tail.subarray(bytes.length)]);
    return kind === 'drop' ? Buffer.concat([head, tail.subarray(1)]) : Buffer.concat([bytes, body]);
  });

/** JSON of any shape at all, most of it no request. */
export const anyBody: fc.Arbitrary<string> = fc.oneof(nastyValue, fc.json({ stringUnit: anyCharacter }), fc.string());
