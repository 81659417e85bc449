/** The Chat Completions features that an upstream supports, as far as servers differ. */
export interface Capabilities {
  /** The role `developer`; otherwise such messages are sent as `system`. */
  readonly developerRole: boolean;
  /**
   * Where system messages are allowed: `anywhere`; `first` only, so later ones become user messages; or `none`, so their text is
   * prepended to the first user message.
   */
  readonly systemRole: 'anywhere' | 'first' | 'none';
  /** Which orders of messages are allowed: `any`; or `alternating`, as the chat templates of Gemma and Mistral have it. */
  readonly roleOrder: 'any' | 'alternating';
  readonly images: boolean;
  readonly audio: boolean;
  readonly files: boolean;
  readonly tools: boolean;
  /** `strict` on functions. */
  readonly strictTools: boolean;
  /** `tool_choice` of type `allowed_tools`; otherwise only the allowed tools are sent. */
  readonly allowedTools: boolean;
  /** `tool_choice` of one function; otherwise only that function is sent, with `required`. */
  readonly namedToolChoice: boolean;
  /** Images in tool messages; otherwise they follow in a user message. */
  readonly toolImages: boolean;
  /** `name` in tool messages. */
  readonly toolNames: boolean;
  /** Accepted call ids: `any`, or `nine` letters and digits. */
  readonly callIds: 'any' | 'nine';
  /** The strictest supported `response_format`; anything beyond it is requested in the instructions. */
  readonly structuredOutput: 'json_schema' | 'json_object' | 'none';
  /**
   * How reasoning is controlled: `reasoning_effort`, a `reasoning` object, `enable_thinking` of chat templates, a `thinking`
   * object with an effort beside it, or not at all.
   */
  readonly reasoningSwitch: 'reasoning_effort' | 'reasoning' | 'enable_thinking' | 'thinking' | 'none';
  /** The member of assistant messages that carries earlier reasoning. */
  readonly reasoningReplay: 'reasoning_content' | 'reasoning' | 'none';
  /** Whether assistant messages with calls must have that member, empty where the reasoning is not known. */
  readonly reasoningOnCalls: boolean;
  /** `prompt_cache_key`, `prompt_cache_retention`, `prompt_cache_options`, and `prompt_cache_breakpoint` in parts; otherwise they are not sent. */
  readonly promptCache: boolean;
  /** `verbosity`. */
  readonly verbosity: boolean;
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** `stream_options.include_usage`. */
  readonly streamUsage: boolean;
  /**
   * Whether answers that nobody reads before their end are asked for without `stream`, which takes half of the CPU: `always`;
   * `bounded`, those whose `max_output_tokens` is known; `never`.
   */
  readonly wholeAnswers: 'always' | 'bounded' | 'never';
  /**
   * What becomes of a function call whose arguments are no JSON: `incomplete`, as is its response, or `pass`, for clients that repair
   * arguments themselves.
   */
  readonly malformedCalls: 'incomplete' | 'pass';
  /**
   * How the server counts the tokens of a chat request: vLLM's `tokenize` beside the versioned paths, `input_tokens` below
   * `/chat/completions` (llama.cpp), or not at all.
   */
  readonly tokenCount: 'tokenize' | 'input_tokens' | 'none';
}

/** Features that nearly every server supports. */
const GENERIC: Capabilities = {
  developerRole: false,
  systemRole: 'anywhere',
  roleOrder: 'any',
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
  reasoningOnCalls: false,
  promptCache: false,
  verbosity: false,
  maxTokensField: 'max_tokens',
  streamUsage: true,
  wholeAnswers: 'always',
  malformedCalls: 'incomplete',
  tokenCount: 'none',
};

/** The capabilities of known servers, where they differ from GENERIC. */
const PRESETS = {
  generic: {},
  openai: {
    developerRole: true,
    strictTools: true,
    allowedTools: true,
    promptCache: true,
    verbosity: true,
    maxTokensField: 'max_completion_tokens',
  },
  // The chat templates of many models reject system messages after the first.
  vllm: { systemRole: 'first', toolImages: true, reasoningReplay: 'reasoning', tokenCount: 'tokenize' },
  sglang: { systemRole: 'first', audio: false, files: false, strictTools: true, reasoningReplay: 'reasoning_content' },
  'llama.cpp': {
    systemRole: 'first',
    files: false,
    namedToolChoice: false,
    reasoningReplay: 'reasoning_content',
    // The server writes a whole answer to its end, also for a client that has left, and the slot is taken until then.
    wholeAnswers: 'never',
    tokenCount: 'input_tokens',
  },
  ollama: { audio: false, files: false, reasoningReplay: 'reasoning' },
  tgi: { systemRole: 'first', audio: false, files: false, reasoningSwitch: 'none' },
  deepseek: {
    images: false,
    audio: false,
    files: false,
    structuredOutput: 'json_object',
    reasoningSwitch: 'thinking',
    reasoningReplay: 'reasoning_content',
    reasoningOnCalls: true,
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

/** Request members that servers reject or misinterpret. */
const OMITTED: Partial<Record<keyof typeof PRESETS, readonly string[]>> = {
  // Accepted only together with `store`.
  openai: ['metadata'],
  groq: ['metadata', 'logprobs', 'top_logprobs'],
  // Unknown members are rejected.
  mistral: ['user', 'logprobs', 'top_logprobs'],
};

/** A kind of server with known capabilities. */
export type Dialect = keyof typeof PRESETS;

/** Every Dialect. */
export const DIALECTS = Object.keys(PRESETS) as readonly Dialect[];

/** Request members that are not sent to servers of this dialect. */
export function omittedBy(dialect: Dialect): readonly string[] {
  return OMITTED[dialect] ?? [];
}

/** The capabilities of a dialect, with overrides. */
export function capabilitiesOf(dialect: Dialect, known: Partial<Capabilities> = {}): Capabilities {
  return { ...GENERIC, ...PRESETS[dialect], ...known };
}
