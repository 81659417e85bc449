import { type EchoedName, parametersWhere } from '../../../protocol/index.js';
import type { JsonSchema } from '../../../validation/index.js';
import {
  ANY,
  FLAG,
  INTEGER,
  listOf,
  type Members,
  NOTHING,
  nullable,
  NUMBER,
  object,
  OBJECT,
  oneOf,
  ref,
  SECONDS,
  TEXT,
} from './shape.js';

const IMAGE_TOKENS = object({ image_tokens: INTEGER, text_tokens: INTEGER });

const TOOL_USAGE = object({
  image_gen: object({
    input_tokens: INTEGER,
    input_tokens_details: IMAGE_TOKENS,
    output_tokens: INTEGER,
    output_tokens_details: IMAGE_TOKENS,
    total_tokens: INTEGER,
  }),
  web_search: object({ num_requests: INTEGER }),
});

/** Members of a request that the Response shows. */
const SETTINGS = {
  access_programs: nullable(OBJECT),
  background: FLAG,
  frequency_penalty: NUMBER,
  instructions: nullable(TEXT),
  max_output_tokens: nullable(INTEGER),
  max_tool_calls: nullable(INTEGER),
  metadata: nullable({ type: 'object', additionalProperties: TEXT }),
  model: TEXT,
  moderation: NOTHING,
  parallel_tool_calls: FLAG,
  presence_penalty: NUMBER,
  previous_response_id: nullable(TEXT),
  prompt_cache_key: nullable(TEXT),
  prompt_cache_retention: nullable(TEXT),
  reasoning: nullable(
    object({}, { effort: nullable(TEXT), summary: nullable(TEXT), context: nullable(TEXT), mode: nullable(TEXT) }),
  ),
  safety_identifier: nullable(TEXT),
  store: FLAG,
  temperature: nullable(NUMBER),
  text: object({ format: object({ type: TEXT }) }, { verbosity: nullable(TEXT) }),
  tool_choice: { anyOf: [TEXT, OBJECT] },
  tools: listOf(object({ type: TEXT })),
  top_logprobs: nullable(INTEGER),
  top_p: nullable(NUMBER),
  truncation: nullable(TEXT),
  user: nullable(TEXT),
  conversation: nullable(object({ id: TEXT })),
  image: nullable(OBJECT),
  prompt: nullable(OBJECT),
  prompt_cache_options: nullable(ANY),
} as const satisfies Readonly<Record<EchoedName, JsonSchema>>;

function settingsWith(echo: 'always' | 'given'): Members {
  const names = parametersWhere((parameter) => parameter.echo === echo) as readonly EchoedName[];
  return Object.fromEntries(names.map((name) => [name, SETTINGS[name]]));
}

/** The Response and its parts (protocol §5). */
export const RESPONSE_SCHEMAS = {
  Usage: object({
    input_tokens: INTEGER,
    input_tokens_details: object({ cached_tokens: INTEGER, cache_write_tokens: INTEGER }),
    output_tokens: INTEGER,
    output_tokens_details: object({ reasoning_tokens: INTEGER }),
    total_tokens: INTEGER,
  }),
  ResponseError: object({ code: TEXT, message: TEXT }, { headers: object({ 'retry-after': TEXT }) }),
  Response: object(
    {
      id: TEXT,
      object: oneOf('response'),
      created_at: SECONDS,
      status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
      completed_at: nullable(SECONDS),
      error: nullable(ref('ResponseError')),
      incomplete_details: nullable(object({ reason: TEXT })),
      service_tier: nullable(TEXT),
      output: listOf(ref('Item')),
      usage: nullable(ref('Usage')),
      tool_usage: TOOL_USAGE,
      ...settingsWith('always'),
    },
    {
      ...settingsWith('given'),
      output_text: { ...TEXT, description: 'The text of all messages. In JSON answers only, not in events.' },
    },
  ),
} as const satisfies Readonly<Record<string, JsonSchema>>;
