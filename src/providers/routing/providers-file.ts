import { type Capabilities, type Dialect, DIALECTS } from '../chat-completions/index.js';

/** The file that PROVIDERS_FILE names, as it is written (docs/providers.md). */
export interface ProvidersFile {
  readonly providers?: Readonly<Record<string, ProviderEntry>>;
  readonly models?: readonly ModelEntry[];
}

/** One upstream server. */
export interface ProviderEntry {
  readonly kind?: 'chat-completions';
  readonly base_url: string;
  readonly dialect?: Dialect;
  readonly api_key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly timeouts?: { readonly connect_ms?: number; readonly first_byte_ms?: number; readonly idle_ms?: number };
  /** Further attempts of a turn here, before the first token. */
  readonly retries?: number;
  readonly connections?: number;
  readonly discover?: boolean;
  readonly forward?: readonly string[];
  readonly omit?: readonly string[];
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

/** Which names go where. Exactly one of `name`, `prefix`, `glob` and `default`. */
export interface ModelEntry {
  readonly name?: string;
  readonly prefix?: string;
  readonly glob?: string;
  readonly default?: true;
  /** The `name` of another entry. */
  readonly alias?: string;
  /** Whether the prefix is left out of the name upstream. */
  readonly strip?: boolean;
  readonly provider?: string;
  readonly model?: string;
  readonly upstreams?: readonly UpstreamEntry[];
  /** Tokens. */
  readonly context_window?: number;
  /** Tokens. */
  readonly max_output_tokens?: number;
  readonly reasoning_efforts?: readonly string[];
  readonly owned_by?: string;
}

/** One of several upstreams that serve the same names. */
export interface UpstreamEntry {
  readonly provider: string;
  /** The name of the model there; the one that was asked for when absent. */
  readonly model?: string;
  /** Its share of the turns, in relation to the others'. */
  readonly weight?: number;
}

/** What Node's timers can hold. */
const LONGEST_DELAY_MS = 2_147_483_647;

const text = { type: 'string', minLength: 1 };
const member = { type: 'string', pattern: '^[A-Za-z][\\w.-]*$', description: 'must be the name of a member' };
const flag = { type: 'boolean' };
const milliseconds = { type: 'integer', minimum: 1, maximum: LONGEST_DELAY_MS };
const tokens = { type: 'integer', minimum: 1 };
const texts = { type: 'object', additionalProperties: { type: 'string' } };
const oneOf = (...words: readonly string[]): object => ({ enum: words });

/** The members of `capabilities`, under the names of our own. */
export const CAPABILITY_NAMES = {
  developer_role: 'developerRole',
  system_role: 'systemRole',
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
  verbosity: 'verbosity',
  max_tokens_field: 'maxTokensField',
  stream_usage: 'streamUsage',
} as const satisfies Record<string, keyof Capabilities>;

const CAPABILITY_SCHEMAS: Readonly<Record<keyof typeof CAPABILITY_NAMES, object>> = {
  developer_role: flag,
  system_role: oneOf('anywhere', 'first', 'none'),
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
  verbosity: flag,
  max_tokens_field: oneOf('max_tokens', 'max_completion_tokens'),
  stream_usage: flag,
};

const provider = object(
  {
    kind: oneOf('chat-completions'),
    base_url: { type: 'string', pattern: '^https?://[^@/?#]+(/[^@]*)?$', description: 'must be an http or https URL' },
    dialect: { enum: DIALECTS },
    api_key: text,
    headers: texts,
    query: texts,
    timeouts: object({ connect_ms: milliseconds, first_byte_ms: milliseconds, idle_ms: milliseconds }),
    retries: { type: 'integer', minimum: 0, maximum: 100 },
    connections: { type: 'integer', minimum: 1, maximum: 65_535 },
    discover: flag,
    forward: { type: 'array', items: member, uniqueItems: true },
    omit: { type: 'array', items: member, uniqueItems: true },
    capabilities: object(CAPABILITY_SCHEMAS),
  },
  { required: ['base_url'] },
);

const upstream = object(
  { provider: text, model: text, weight: { type: 'number', exclusiveMinimum: 0, maximum: 1e6 } },
  { required: ['provider'] },
);

const MATCHES = ['name', 'prefix', 'glob', 'default'];
const TARGETS = ['alias', 'provider', 'upstreams'];

const model = object(
  {
    name: text,
    prefix: text,
    glob: { ...text, maxLength: 256 },
    default: { enum: [true] },
    alias: text,
    strip: flag,
    provider: text,
    model: text,
    upstreams: { type: 'array', items: upstream, minItems: 1 },
    context_window: tokens,
    max_output_tokens: tokens,
    reasoning_efforts: {
      type: 'array',
      items: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
      uniqueItems: true,
    },
    owned_by: text,
  },
  {
    allOf: [exactlyOne(MATCHES), exactlyOne(TARGETS)],
    dependentRequired: { strip: ['prefix'], model: ['provider'], alias: ['name'] },
  },
);

/** The JSON Schema of a ProvidersFile. */
export const PROVIDERS_SCHEMA = object({
  providers: {
    type: 'object',
    additionalProperties: provider,
    propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]*$', description: 'must be named in a-z, 0-9, - and _' },
  },
  models: { type: 'array', items: model },
});

function object(properties: object, rest: object = {}): object {
  return { type: 'object', properties, additionalProperties: false, ...rest };
}

function exactlyOne(names: readonly string[]): object {
  return {
    oneOf: names.map((name) => ({ required: [name] })),
    description: `must have exactly one of ${names.join(', ')}`,
  };
}
