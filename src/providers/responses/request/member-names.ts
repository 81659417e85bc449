/** Request members of the API (protocol §2) that reach the upstream as the client sent them. */
export const SENT_MEMBERS: readonly string[] = [
  'access_programs',
  'client_metadata',
  'context_management',
  'frequency_penalty',
  'image',
  'include',
  'instructions',
  'max_tool_calls',
  'metadata',
  'moderation',
  'multi_agent',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'stream_options',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
];

/** Those among them that a count of tokens takes (protocol §1.1). */
export const COUNTED_MEMBERS: readonly string[] = [
  'instructions',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
];

/** Members that the service or the provider sets, and that are not the client's to pass on. */
const OWN_MEMBERS: readonly string[] = [
  'background',
  'conversation',
  'event_id',
  'generate',
  'input',
  'max_output_tokens',
  'model',
  'previous_response_id',
  'prompt',
  'session_id',
  'store',
  'stream',
  'stream_id',
  'type',
];

/** Members that `forward` cannot name: they are sent anyway, or never. */
export const RESERVED_MEMBERS: ReadonlySet<string> = new Set([...SENT_MEMBERS, ...OWN_MEMBERS]);

/** Members that `omit` cannot name: every request needs them. */
export const VITAL_MEMBERS: ReadonlySet<string> = new Set(['input', 'model', 'stream']);
