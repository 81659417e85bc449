import assert from 'node:assert/strict';

/** A kind of value; several are alternatives. */
type Kind = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null' | 'any';

type Members = Readonly<Record<string, readonly Kind[]>>;

/** Members that a Response must have, null or not (Open Responses). */
const RESPONSE: Members = {
  id: ['string'],
  object: ['string'],
  created_at: ['integer'],
  completed_at: ['integer', 'null'],
  status: ['string'],
  incomplete_details: ['object', 'null'],
  model: ['string'],
  previous_response_id: ['string', 'null'],
  instructions: ['string', 'array', 'null'],
  output: ['array'],
  error: ['object', 'null'],
  tools: ['array'],
  tool_choice: ['string', 'object'],
  truncation: ['string'],
  parallel_tool_calls: ['boolean'],
  text: ['object'],
  top_p: ['number'],
  presence_penalty: ['number'],
  frequency_penalty: ['number'],
  top_logprobs: ['integer'],
  temperature: ['number'],
  reasoning: ['object', 'null'],
  usage: ['object', 'null'],
  max_output_tokens: ['integer', 'null'],
  max_tool_calls: ['integer', 'null'],
  store: ['boolean'],
  background: ['boolean'],
  service_tier: ['string'],
  metadata: ['object'],
  safety_identifier: ['string', 'null'],
  prompt_cache_key: ['string', 'null'],
};

/** Members of items, by type. */
const ITEMS: Readonly<Record<string, Members>> = {
  message: { id: ['string'], status: ['string'], role: ['string'], content: ['array'] },
  function_call: {
    id: ['string'],
    call_id: ['string'],
    name: ['string'],
    arguments: ['string'],
    status: ['string'],
  },
  reasoning: { id: ['string'], summary: ['array'] },
  compaction: { id: ['string'], encrypted_content: ['string'] },
};

const USAGE: Members = {
  input_tokens: ['integer'],
  output_tokens: ['integer'],
  total_tokens: ['integer'],
  input_tokens_details: ['object'],
  output_tokens_details: ['object'],
};

/** Throws an AssertionError that names the member unless a value is a complete Response that has ended well. */
export function requireResponse(value: unknown): void {
  requireMembers(value, RESPONSE, 'response');
  const { object, status, output, usage } = value as Readonly<Record<string, unknown>>;
  assert.equal(object, 'response', 'response.object');
  assert.equal(status, 'completed', 'response.status');
  requireMembers(usage, USAGE, 'response.usage');
  assert.ok((output as readonly unknown[]).length > 0, 'response.output is empty');
  for (const [index, item] of (output as readonly unknown[]).entries()) requireItem(item, `response.output[${index}]`);
}

/** Throws an AssertionError unless an item has the members of its type. */
export function requireItem(item: unknown, path: string): void {
  requireMembers(item, { type: ['string'] }, path);
  const { type, content } = item as { readonly type: string; readonly content?: unknown };
  requireMembers(item, ITEMS[type] ?? {}, path);
  if (type !== 'message') return;
  for (const [index, part] of (content as readonly { readonly type?: unknown }[]).entries()) {
    if (part.type === 'output_text')
      requireMembers(part, { text: ['string'], annotations: ['array'] }, `${path}.content[${index}]`);
  }
}

function requireMembers(value: unknown, members: Members, path: string): void {
  assert.equal(kindOf(value), 'object', `${path} is no object`);
  for (const [name, kinds] of Object.entries(members)) {
    assert.ok(Object.hasOwn(value as object, name), `${path}.${name} is missing`);
    const kind = kindOf((value as Readonly<Record<string, unknown>>)[name]);
    const fits = kinds.includes(kind) || kinds.includes('any') || (kind === 'integer' && kinds.includes('number'));
    assert.ok(fits, `${path}.${name} is ${kind}, expected ${kinds.join(' or ')}`);
  }
}

function kindOf(value: unknown): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  const kind = typeof value;
  return kind === 'string' || kind === 'boolean' || kind === 'object' ? kind : 'any';
}
