import { type FloorItem, makeId } from './floor-items.ts';

/** What the floor reads of a request. */
export interface FloorRequest {
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The Response as the events of its stream show it. */
export interface Snapshots {
  /** Before the first delta; asked for each event that shows it. */
  started(): object;
  /** With the one item of its output, the text of which is given as well. */
  completed(item: FloorItem, text: string, usage: object): object;
}

/** The snapshots of a response of the floor, which are made of almost nothing. */
export class FloorSnapshots implements Snapshots {
  private readonly start: FloorState;

  constructor({ model, metadata }: FloorRequest) {
    const createdAt = Math.floor(Date.now() / 1000);
    this.start = { id: makeId('resp'), createdAt, model, metadata, status: 'in_progress', output: [], usage: null };
  }

  started(): object {
    return toSnapshot(this.start);
  }

  completed(item: FloorItem, _text: string, usage: object): object {
    return toSnapshot({ ...this.start, status: 'completed', output: [item], usage });
  }
}

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

/** What every response has used of the tools that the service does not have. */
export const TOOL_USAGE = {
  image_gen: {
    input_tokens: 0,
    input_tokens_details: NO_TOKENS,
    output_tokens: 0,
    output_tokens_details: NO_TOKENS,
    total_tokens: 0,
  },
  web_search: { num_requests: 0 },
};

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
    tool_usage: TOOL_USAGE,
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
