import type { Capabilities, Dialect } from '../chat-completions/capabilities.js';
import { flag, oneOf } from './schema-parts.js';
import type { ServerEntry } from './server-entry.js';

/** An entry of PROVIDERS_FILE for a Chat Completions server. */
export interface ChatCompletionsEntry extends ServerEntry {
  readonly dialect?: Dialect;
  readonly reasoning_tags?: readonly string[];
  readonly timeouts?: {
    readonly connect_ms?: number;
    readonly first_byte_ms?: number;
    readonly idle_ms?: number;
    readonly whole_ms?: number;
  };
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

/** The JSON Schema of `reasoning_tags`. */
export const REASONING_TAGS = {
  type: 'array',
  items: {
    type: 'string',
    pattern: '^[A-Za-z][\\w:.-]{0,63}$',
    description: 'must be the name of a tag, without brackets',
  },
  minItems: 1,
  uniqueItems: true,
};

/** Maps the members of `capabilities` to those of Capabilities. */
export const CAPABILITY_NAMES = {
  developer_role: 'developerRole',
  system_role: 'systemRole',
  role_order: 'roleOrder',
  images: 'images',
  audio: 'audio',
  files: 'files',
  tools: 'tools',
  strict_tools: 'strictTools',
  allowed_tools: 'allowedTools',
  named_tool_choice: 'namedToolChoice',
  tool_images: 'toolImages',
  tool_names: 'toolNames',
  call_ids: 'callIds',
  structured_output: 'structuredOutput',
  reasoning_switch: 'reasoningSwitch',
  reasoning_replay: 'reasoningReplay',
  reasoning_on_calls: 'reasoningOnCalls',
  prompt_cache: 'promptCache',
  verbosity: 'verbosity',
  max_tokens_field: 'maxTokensField',
  stream_usage: 'streamUsage',
  whole_answers: 'wholeAnswers',
  malformed_calls: 'malformedCalls',
  token_count: 'tokenCount',
} as const satisfies Record<string, keyof Capabilities>;

/** The JSON Schemas of the members of `capabilities`. */
export const CAPABILITY_SCHEMAS: Readonly<Record<keyof typeof CAPABILITY_NAMES, object>> = {
  developer_role: flag,
  system_role: oneOf('anywhere', 'first', 'none'),
  role_order: oneOf('any', 'alternating'),
  images: flag,
  audio: flag,
  files: flag,
  tools: flag,
  strict_tools: flag,
  allowed_tools: flag,
  named_tool_choice: flag,
  tool_images: flag,
  tool_names: flag,
  call_ids: oneOf('any', 'nine'),
  structured_output: oneOf('json_schema', 'json_object', 'none'),
  reasoning_switch: oneOf('reasoning_effort', 'reasoning', 'enable_thinking', 'thinking', 'none'),
  reasoning_replay: oneOf('reasoning_content', 'reasoning', 'none'),
  reasoning_on_calls: flag,
  prompt_cache: flag,
  verbosity: flag,
  max_tokens_field: oneOf('max_tokens', 'max_completion_tokens'),
  stream_usage: flag,
  whole_answers: oneOf('always', 'bounded', 'never'),
  malformed_calls: oneOf('incomplete', 'pass'),
  token_count: oneOf('tokenize', 'input_tokens', 'none'),
};
