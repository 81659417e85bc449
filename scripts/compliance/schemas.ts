import { type Check, flag, listOf, nullOr, number, object, oneOf, optional, something, text, whole } from './check.ts';

/** The members that Open Responses requires of each kind of item; of others only `type`. */
const ITEMS: Readonly<Record<string, Check>> = {
  message: object({
    id: text,
    status: oneOf('in_progress', 'completed', 'incomplete'),
    role: oneOf('assistant', 'user', 'system', 'developer'),
    content: listOf(content),
    phase: optional(oneOf('commentary', 'final_answer')),
  }),
  function_call: object({
    id: text,
    call_id: text,
    name: text,
    arguments: text,
    status: oneOf('in_progress', 'completed', 'incomplete'),
  }),
  reasoning: object({ id: text, summary: listOf(object({ type: text })) }),
  compaction: object({ id: text, encrypted_content: text }),
};

/** An item of an output. */
export const item: Check = (value, path) => {
  object({ type: text })(value, path);
  ITEMS[(value as { readonly type: string }).type]?.(value, path);
};

/** A response, in whatever state, with every member that Open Responses requires. */
export const response: Check = object({
  id: text,
  object: oneOf('response'),
  created_at: whole,
  completed_at: nullOr(whole),
  status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
  incomplete_details: nullOr(object({ reason: text })),
  model: text,
  previous_response_id: nullOr(text),
  instructions: nullOr(text),
  output: listOf(item),
  error: nullOr(object({ code: text, message: text })),
  tools: listOf(tool),
  tool_choice: something,
  truncation: oneOf('auto', 'disabled'),
  parallel_tool_calls: flag,
  text: object({ format: object({ type: text }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: whole,
  temperature: number,
  reasoning: nullOr(object({ effort: nullOr(text), summary: nullOr(text) })),
  usage: nullOr(
    object({
      input_tokens: whole,
      output_tokens: whole,
      total_tokens: whole,
      input_tokens_details: object({ cached_tokens: whole }),
      output_tokens_details: object({ reasoning_tokens: whole }),
    }),
  ),
  max_output_tokens: nullOr(whole),
  max_tool_calls: nullOr(whole),
  store: flag,
  background: flag,
  service_tier: text,
  metadata: object(),
  safety_identifier: nullOr(text),
  prompt_cache_key: nullOr(text),
});

const inItem = { item_id: text, output_index: whole };
const inPart = { ...inItem, content_index: whole };

/** The members of the events that every text has; of others only `type` and `sequence_number`. */
const EVENTS: Readonly<Record<string, Check>> = {
  'response.created': object({ response }),
  'response.in_progress': object({ response }),
  'response.output_item.added': object({ output_index: whole, item }),
  'response.content_part.added': object({ ...inPart, part: content }),
  'response.output_text.delta': object({ ...inPart, delta: text }),
  'response.output_text.done': object({ ...inPart, text }),
  'response.content_part.done': object({ ...inPart, part: content }),
  'response.output_item.done': object({ output_index: whole, item }),
  'response.completed': object({ response }),
};

/** An event of a stream or a socket. */
export const event: Check = (value, path) => {
  object({ type: text, sequence_number: whole })(value, path);
  EVENTS[(value as { readonly type: string }).type]?.(value, path);
};

function content(value: unknown, path: string): void {
  object({ type: text })(value, path);
  if ((value as { readonly type: string }).type === 'output_text')
    object({ text, annotations: listOf(object()) })(value, path);
}

/** A function is echoed with all of its members. */
function tool(value: unknown, path: string): void {
  object({ type: text })(value, path);
  if ((value as { readonly type: string }).type === 'function')
    object({ name: text, description: nullOr(text), parameters: nullOr(object()), strict: nullOr(flag) })(value, path);
}

/** The answer of a compaction. */
export const compaction: Check = object({
  id: text,
  object: oneOf('response.compaction'),
  created_at: whole,
  output: listOf(item),
  usage: object({ input_tokens: whole, output_tokens: whole, total_tokens: whole }),
});
