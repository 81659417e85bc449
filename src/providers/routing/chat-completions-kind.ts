import { objectSchema } from '../../config/index.js';
import type { IdGenerator } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import {
  type Capabilities,
  capabilitiesOf,
  type Dialect,
  DIALECTS,
  omittedBy,
} from '../chat-completions/capabilities.js';
import { type ChatCompletionsOptions, ChatCompletionsProvider } from '../chat-completions/chat-completions.provider.js';
import { type ProviderEntry, ProviderKind } from '../provider-kind.js';
import { flag, milliseconds, oneOf } from './schema-parts.js';
import {
  checkServer,
  secretsOfServer,
  SERVER_MEMBERS,
  type ServerEntry,
  toAddress,
  toEmbeddingOptions,
} from './server-entry.js';

const DEFAULT_TIMEOUTS = { connectMs: 10_000, firstByteMs: 180_000, idleMs: 120_000, wholeMs: 600_000 };

/**
 * Request members that cannot be forwarded: the provider translates them, the service interprets them, or they would change the
 * form of the answer.
 */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...['background', 'client_metadata', 'context_management', 'conversation', 'event_id', 'frequency_penalty'],
  ...['function_call', 'functions', 'generate', 'include', 'input', 'instructions', 'logprobs'],
  ...['max_completion_tokens', 'max_output_tokens', 'max_tokens', 'max_tool_calls', 'messages', 'metadata'],
  ...['modalities', 'model', 'moderation', 'n', 'parallel_tool_calls', 'presence_penalty', 'previous_response_id'],
  ...['prompt', 'reasoning', 'reasoning_effort', 'response_format', 'session_id', 'store', 'stream', 'stream_id'],
  ...['stream_options', 'temperature', 'text', 'tool_choice', 'tools', 'top_logprobs', 'top_p', 'truncation', 'type'],
  ...['user', 'verbosity'],
]);

const NAMES = { vital: new Set(['model', 'messages', 'stream']), reserved: RESERVED_NAMES };

/** An entry of PROVIDERS_FILE for a Chat Completions server. */
interface ChatCompletionsEntry extends ServerEntry {
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
const REASONING_TAGS = {
  type: 'array',
  items: {
    type: 'string',
    pattern: '^[A-Za-z][\\w:.-]{0,63}$',
    description: 'must be the name of a tag, without brackets',
  },
  minItems: 1,
  uniqueItems: true,
};

/** `system_role` for `systemRole`. */
type EntryName<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${EntryName<Rest>}`
  : '';

/** The JSON Schemas of the members of `capabilities`. */
const CAPABILITY_SCHEMAS: Readonly<Record<EntryName<keyof Capabilities>, object>> = {
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

/** The kind `chat-completions`: servers with OpenAI's Chat Completions API. */
export class ChatCompletionsKind extends ProviderKind {
  override readonly members = {
    ...SERVER_MEMBERS,
    dialect: { enum: DIALECTS },
    reasoning_tags: REASONING_TAGS,
    timeouts: objectSchema({
      connect_ms: milliseconds,
      first_byte_ms: milliseconds,
      idle_ms: milliseconds,
      whole_ms: milliseconds,
    }),
    capabilities: objectSchema(CAPABILITY_SCHEMAS),
  };
  override readonly required = ['base_url'];

  constructor(private readonly dependencies: { readonly clock: Clock; readonly ids: IdGenerator }) {
    super();
  }

  override create(name: string, entry: ProviderEntry, secrets: readonly string[]): ChatCompletionsProvider {
    return new ChatCompletionsProvider(
      toProviderOptions(name, entry as ChatCompletionsEntry, secrets),
      this.dependencies,
    );
  }

  override check(entry: ProviderEntry): void {
    checkServer(entry as ChatCompletionsEntry, NAMES);
  }

  override secretsOf(entry: ProviderEntry): readonly string[] {
    return secretsOfServer(entry as ChatCompletionsEntry);
  }
}

/** Translates an entry of the file, with defaults. `secrets` are redacted from error messages. */
function toProviderOptions(
  name: string,
  entry: ChatCompletionsEntry,
  secrets: readonly string[],
): ChatCompletionsOptions {
  const { dialect = 'generic', timeouts = {} } = entry;
  const known = toCapabilities(entry.capabilities ?? {});
  return {
    name,
    address: toAddress(entry, {
      connectMs: timeouts.connect_ms ?? DEFAULT_TIMEOUTS.connectMs,
      firstByteMs: timeouts.first_byte_ms ?? DEFAULT_TIMEOUTS.firstByteMs,
      idleMs: timeouts.idle_ms ?? DEFAULT_TIMEOUTS.idleMs,
    }),
    wholeMs: timeouts.whole_ms ?? DEFAULT_TIMEOUTS.wholeMs,
    capabilities: capabilitiesOf(dialect, known),
    configured: new Set(Object.keys(known) as (keyof Capabilities)[]),
    reasoningTags: entry.reasoning_tags ?? [],
    discover: entry.discover ?? true,
    ...toEmbeddingOptions(entry),
    forward: entry.forward ?? [],
    omit: new Set([...omittedBy(dialect), ...(entry.omit ?? [])]),
    secrets,
  };
}

function toCapabilities(entry: Readonly<Record<string, unknown>>): Partial<Capabilities> {
  const toName = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [toName(name), value]));
}
