/** What an upstream understands of Chat Completions. Where servers differ, one of these says how. */
export interface Capabilities {
  /** The role `developer`; without it such messages are sent as `system`. */
  readonly developerRole: boolean;
  /**
   * Where system messages may stand: `anywhere`; only as the `first` message, later ones become user messages; or nowhere
   * (`none`), and their text goes in front of the first user message.
   */
  readonly systemRole: 'anywhere' | 'first' | 'none';
  readonly images: boolean;
  readonly audio: boolean;
  readonly files: boolean;
  readonly tools: boolean;
  /** `strict` on functions. */
  readonly strictTools: boolean;
  /** `tool_choice` of type `allowed_tools`; without it only the allowed tools are offered. */
  readonly allowedTools: boolean;
  /** `tool_choice` of one function; without it only that one is offered, and one is required. */
  readonly namedToolChoice: boolean;
  /** Pictures in tool messages; without it they follow in a user message. */
  readonly toolImages: boolean;
  /** `name` in tool messages. */
  readonly toolNames: boolean;
  /** Which ids of calls it takes: `any`, or only `nine` letters and digits. */
  readonly callIds: 'any' | 'nine';
  /** The best form of `response_format`; what it cannot enforce is asked for in words. */
  readonly structuredOutput: 'json_schema' | 'json_object' | 'none';
  /**
   * How reasoning is controlled: `reasoning_effort`, a `reasoning` object, `enable_thinking` of chat templates, a `thinking`
   * object with an effort beside it, or not at all.
   */
  readonly reasoningSwitch: 'reasoning_effort' | 'reasoning' | 'enable_thinking' | 'thinking' | 'none';
  /** The member of assistant messages in which it takes earlier reasoning back. */
  readonly reasoningReplay: 'reasoning_content' | 'reasoning' | 'none';
  /** `verbosity`. */
  readonly verbosity: boolean;
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** `stream_options.include_usage`. */
  readonly streamUsage: boolean;
}

/** What nearly every server takes. */
const GENERIC: Capabilities = {
  developerRole: false,
  systemRole: 'anywhere',
  images: true,
  audio: true,
  files: true,
  tools: true,
  strictTools: false,
  allowedTools: false,
  namedToolChoice: true,
  toolImages: false,
  toolNames: true,
  callIds: 'any',
  structuredOutput: 'json_schema',
  reasoningSwitch: 'reasoning_effort',
  reasoningReplay: 'none',
  verbosity: false,
  maxTokensField: 'max_tokens',
  streamUsage: true,
};

/** The capabilities of known servers, as far as they differ from the generic ones. */
const PRESETS = {
  generic: {},
  openai: {
    developerRole: true,
    strictTools: true,
    allowedTools: true,
    verbosity: true,
    maxTokensField: 'max_completion_tokens',
  },
  // Templates of many models refuse system messages after the first.
  vllm: { systemRole: 'first', toolImages: true, reasoningReplay: 'reasoning' },
  sglang: { systemRole: 'first', audio: false, files: false, strictTools: true, reasoningReplay: 'reasoning_content' },
  'llama.cpp': { systemRole: 'first', files: false, namedToolChoice: false, reasoningReplay: 'reasoning_content' },
  ollama: { audio: false, files: false, reasoningReplay: 'reasoning' },
  tgi: { systemRole: 'first', audio: false, files: false, reasoningSwitch: 'none' },
  deepseek: {
    images: false,
    audio: false,
    files: false,
    structuredOutput: 'json_object',
    reasoningSwitch: 'thinking',
    reasoningReplay: 'reasoning_content',
  },
  groq: { audio: false, files: false, toolNames: false, maxTokensField: 'max_completion_tokens' },
  mistral: { files: false, strictTools: true, callIds: 'nine', reasoningSwitch: 'none', streamUsage: false },
  openrouter: {
    developerRole: true,
    strictTools: true,
    reasoningSwitch: 'reasoning',
    reasoningReplay: 'reasoning',
    verbosity: true,
  },
} as const satisfies Record<string, Partial<Capabilities>>;

/** Members that servers refuse or misunderstand. */
const OMITTED: Partial<Record<keyof typeof PRESETS, readonly string[]>> = {
  // Taken only together with `store`.
  openai: ['metadata'],
  groq: ['metadata', 'logprobs', 'top_logprobs'],
  // Anything unknown is refused.
  mistral: ['user', 'logprobs', 'top_logprobs'],
};

/** A server whose capabilities are known. */
export type Dialect = keyof typeof PRESETS;

/** Every Dialect. */
export const DIALECTS = Object.keys(PRESETS) as readonly Dialect[];

/** Members of a request that a server is better not sent. */
export function omittedBy(dialect: Dialect): readonly string[] {
  return OMITTED[dialect] ?? [];
}

/** The capabilities of a server, with what is known better of this one. */
export function capabilitiesOf(dialect: Dialect, known: Partial<Capabilities> = {}): Capabilities {
  return { ...GENERIC, ...PRESETS[dialect], ...known };
}
