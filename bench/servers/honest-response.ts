import type { CreateResponseRequest, Item } from 'antiphon';

import { makeId } from './floor-items.ts';
import { TOOL_USAGE } from './floor-snapshot.ts';

/** A Response with its mutable members. */
export interface HonestResponse {
  readonly id: string;
  status: 'in_progress' | 'completed';
  /** Unix seconds. */
  completed_at: number | null;
  service_tier: string | null;
  output: readonly Item[];
  usage: object | null;
  readonly [member: string]: unknown;
}

/** The initial Response of a request, with all members that the service sends and their defaults. */
export function toResponse(request: CreateResponseRequest): HonestResponse {
  const { reasoning, text, tools } = request;
  // Members that OpenAI has deprecated but clients may send.
  const members = request as { readonly [name in 'prompt_cache_retention' | 'truncation' | 'user']?: unknown };
  return {
    id: makeId('resp'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    completed_at: null,
    error: null,
    incomplete_details: null,
    service_tier: request.service_tier ?? 'auto',
    output: [],
    usage: null,
    tool_usage: TOOL_USAGE,
    access_programs: request.access_programs ?? null,
    background: false,
    frequency_penalty: request.frequency_penalty ?? 0,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    model: request.model,
    moderation: null,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: request.presence_penalty ?? 0,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: members.prompt_cache_retention ?? null,
    reasoning: {
      context: reasoning?.context ?? 'all_turns',
      effort: reasoning?.effort ?? null,
      mode: reasoning?.mode ?? 'standard',
      summary: reasoning?.summary ?? null,
    },
    safety_identifier: request.safety_identifier ?? null,
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { ...text, format: text?.format ?? { type: 'text' }, verbosity: text?.verbosity ?? 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: tools?.map(showEveryMember) ?? [],
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: members.truncation ?? 'disabled',
    user: members.user ?? null,
  };
}

function showEveryMember(tool: NonNullable<CreateResponseRequest['tools']>[number]): object {
  if (tool.type !== 'function') return tool;
  return {
    ...tool,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? false,
    output_schema: tool.output_schema ?? null,
  };
}
