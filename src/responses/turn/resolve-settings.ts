import type { CreateResponseRequest, RequestParameters, ResponseSettings, Tool } from '../../protocol/index.js';

/**
 * A request's settings after defaults, as every snapshot of the Response echoes them (protocol §2, §5). `defaultEffort` is
 * the effort of the model where the request names none; null if unknown.
 */
export function resolveSettings(request: RequestParameters, defaultEffort: string | null): ResponseSettings {
  return {
    access_programs: (request.access_programs ?? null) as ResponseSettings['access_programs'],
    background: request.background ?? false,
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
    prompt_cache_retention: request.prompt_cache_retention ?? null,
    reasoning: resolveReasoning(request.reasoning ?? {}, defaultEffort),
    safety_identifier: request.safety_identifier ?? null,
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: {
      ...request.text,
      format: request.text?.format ?? { type: 'text' },
      verbosity: request.text?.verbosity ?? 'medium',
    },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map(toShown),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    user: request.user ?? null,
    // Echoed only when the request has them.
    ...(request.conversation == null ? {} : { conversation: toConversation(request.conversation) }),
    ...(request.image == null ? {} : { image: request.image as ResponseSettings['image'] }),
    ...(request.prompt == null ? {} : { prompt: request.prompt }),
    ...(request.prompt_cache_options == null
      ? {}
      : { prompt_cache_options: request.prompt_cache_options as ResponseSettings['prompt_cache_options'] }),
  };
}

function toConversation(
  conversation: NonNullable<CreateResponseRequest['conversation']>,
): NonNullable<ResponseSettings['conversation']> {
  return { id: typeof conversation === 'string' ? conversation : conversation.id };
}

/** `auto` leaves the context to the model. A provider is given the reasoning of all turns. */
function resolveReasoning(
  { context, effort, mode, summary }: NonNullable<CreateResponseRequest['reasoning']>,
  defaultEffort: string | null,
): ResponseSettings['reasoning'] {
  return {
    context: context == null || context === 'auto' ? 'all_turns' : context,
    effort: (effort ?? defaultEffort) as NonNullable<typeof effort> | null,
    mode: mode ?? 'standard',
    summary: summary ?? null,
  };
}

/**
 * A tool as the Response shows it, and as it is stored. OpenAI and the Open Responses specification have every member of a function tool,
 * if only as null. The credentials of an MCP server are for this turn alone.
 */
function toShown(tool: Tool): Tool {
  if (tool.type === 'mcp') {
    const { authorization: _, headers, ...shown } = tool;
    return headers == null ? shown : { ...shown, headers: null };
  }
  if (tool.type !== 'function') return tool;
  return {
    ...tool,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? false,
    output_schema: tool.output_schema ?? null,
  };
}
