/** What differs between the snapshots of one response, and between responses. */
export interface FloorState {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly status: 'in_progress' | 'completed';
  readonly output: readonly object[];
  readonly usage: object | null;
}

const NO_TOKENS = { image_tokens: 0, text_tokens: 0 };

/** The Response object with every member that the service shows. */
export function toSnapshot({ id, createdAt, model, metadata, status, output, usage }: FloorState): object {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status,
    completed_at: status === 'completed' ? createdAt : null,
    error: null,
    incomplete_details: null,
    service_tier: status === 'in_progress' ? 'auto' : 'default',
    output,
    usage,
    tool_usage: {
      image_gen: {
        input_tokens: 0,
        input_tokens_details: NO_TOKENS,
        output_tokens: 0,
        output_tokens_details: NO_TOKENS,
        total_tokens: 0,
      },
      web_search: { num_requests: 0 },
    },
    access_programs: null,
    background: false,
    frequency_penalty: 0,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata,
    model,
    moderation: null,
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    store: true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    user: null,
  };
}

/** The usage of a response. */
export function toUsage(inputTokens: number, outputTokens: number): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
