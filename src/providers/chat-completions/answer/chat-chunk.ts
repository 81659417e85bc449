/**
 * A chunk of a chat completion, in any dialect. Every member is untrusted: it may be missing, null, or of another type.
 */
export interface ChatChunk {
  readonly id?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
  readonly x_groq?: unknown;
  /** llama.cpp's; `cache_n` counts the tokens of the prompt that it had in its cache. */
  readonly timings?: unknown;
  readonly object?: unknown;
  readonly error?: unknown;
  readonly error_type?: unknown;
  readonly error_message?: unknown;
  /** MiniMax's: its own error, with HTTP status 200. */
  readonly base_resp?: unknown;
  /** What bodies of errors have that stand in a stream without a member `error`. */
  readonly type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly detail?: unknown;
  /** Perplexity's; the pages are the same in every chunk. */
  readonly citations?: unknown;
  readonly search_results?: unknown;
}

/** The members of a delta, or of a whole message. */
export interface ChatDelta {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly reasoning_details?: unknown;
  readonly reasoning_text?: unknown;
  readonly thinking?: unknown;
  readonly refusal?: unknown;
  /** Sound, with its words as `transcript`. */
  readonly audio?: unknown;
  readonly tool_calls?: unknown;
  readonly function_call?: unknown;
  readonly annotations?: unknown;
  readonly images?: unknown;
  readonly citations?: unknown;
  readonly search_results?: unknown;
}

/** One of `choices`. */
export interface ChatChoice {
  readonly index?: unknown;
  readonly delta?: unknown;
  readonly message?: unknown;
  readonly text?: unknown;
  readonly finish_reason?: unknown;
  readonly logprobs?: unknown;
  /** Some servers count here instead of in the chunk. */
  readonly usage?: unknown;
}
