import { type FloorItem, makeId } from './floor-items.ts';

/** The request members that the floor reads. */
export interface FloorRequest {
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Snapshots of a Response for the events of its stream. */
export interface Snapshots {
  /** Before the first delta; called for each event with a snapshot. */
  started(): object;
  /** After the last delta, with its one output item and that item's text. */
  completed(item: FloorItem, text: string, usage: object): object;
}

/** The snapshots of the minimal floor. */
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

/** The members that differ between snapshots and responses. */
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

/** Usage of hosted tools, which is the same in every response. */
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

/** The Response object with all members that the service sends. */
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
    reasoning: { context: 'all_turns', effort: null, mode: 'standard', summary: null },
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
