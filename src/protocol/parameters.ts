/** What becomes of a member of a create request (protocol §2), besides its effect. */
interface Parameter {
  /** Whether the Response shows it: always, with `default` where the request has none, or only if it was given (protocol §5). */
  readonly echo?: 'always' | 'given';
  readonly default?: unknown;
  /** Whether a Responses upstream is sent it as the client sent it, or the service or the provider sets it. Without either, an entry may forward it. */
  readonly upstream?: 'sent' | 'own';
  /** A count of tokens takes it (protocol §1.1). */
  readonly counts?: true;
  /** A prompt of PROMPTS_FILE may bring it. */
  readonly inPrompts?: true;
}

/**
 * Every member of a create request. Their rules stand in `CreateRequestBody`, in the order in which violations are reported; this is
 * the order in which the Response shows them.
 */
export const PARAMETERS = {
  access_programs: { echo: 'always', default: null, upstream: 'sent' },
  background: { echo: 'always', default: false, upstream: 'own' },
  client_metadata: { upstream: 'sent' },
  context_management: { upstream: 'sent', inPrompts: true },
  frequency_penalty: { echo: 'always', default: 0, upstream: 'sent', inPrompts: true },
  include: { upstream: 'sent', inPrompts: true },
  input: { upstream: 'own', counts: true },
  input_transformations: {},
  instructions: { echo: 'always', default: null, upstream: 'sent', counts: true },
  max_output_tokens: { echo: 'always', default: null, upstream: 'own', inPrompts: true },
  max_tool_calls: { echo: 'always', default: null, upstream: 'sent', inPrompts: true },
  metadata: { echo: 'always', default: Object.freeze({}), upstream: 'sent', inPrompts: true },
  model: { echo: 'always', upstream: 'own', counts: true, inPrompts: true },
  moderation: { echo: 'always', default: null, upstream: 'sent' },
  multi_agent: { upstream: 'sent' },
  parallel_tool_calls: { echo: 'always', default: true, upstream: 'sent', counts: true, inPrompts: true },
  presence_penalty: { echo: 'always', default: 0, upstream: 'sent', inPrompts: true },
  previous_response_id: { echo: 'always', default: null, upstream: 'own', counts: true },
  prompt_cache_key: { echo: 'always', default: null, upstream: 'sent', inPrompts: true },
  prompt_cache_retention: { echo: 'always', default: null, upstream: 'sent', inPrompts: true },
  reasoning: { echo: 'always', upstream: 'sent', counts: true, inPrompts: true },
  safety_identifier: { echo: 'always', default: null, upstream: 'sent' },
  service_tier: { upstream: 'sent', inPrompts: true },
  store: { echo: 'always', default: true, upstream: 'own' },
  stream: { upstream: 'own' },
  stream_options: { upstream: 'sent' },
  temperature: { echo: 'always', default: 1, upstream: 'sent', inPrompts: true },
  text: { echo: 'always', upstream: 'sent', counts: true, inPrompts: true },
  tool_choice: { echo: 'always', default: 'auto', upstream: 'sent', counts: true, inPrompts: true },
  tools: { echo: 'always', upstream: 'sent', counts: true, inPrompts: true },
  top_logprobs: { echo: 'always', default: 0, upstream: 'sent', inPrompts: true },
  top_p: { echo: 'always', default: 1, upstream: 'sent', inPrompts: true },
  truncation: { echo: 'always', default: 'disabled', upstream: 'sent', counts: true, inPrompts: true },
  user: { echo: 'always', default: null, upstream: 'sent' },
  // Shown after the others.
  conversation: { echo: 'given', upstream: 'own', counts: true },
  image: { echo: 'given', upstream: 'sent' },
  prompt: { echo: 'given', upstream: 'own' },
  prompt_cache_options: { echo: 'given', upstream: 'sent' },
} as const satisfies Readonly<Record<string, Parameter>>;

/** The name of a member of a create request. */
export type ParameterName = keyof typeof PARAMETERS;

/** The names of members that the Response shows. */
export type EchoedName = {
  [Name in ParameterName]: (typeof PARAMETERS)[Name] extends { readonly echo: string } ? Name : never;
}[ParameterName];

/** The names of the members for which `is` holds, in the order of the table. */
export function parametersWhere(is: (parameter: Parameter) => boolean): readonly ParameterName[] {
  const rows: readonly (readonly [string, Parameter])[] = Object.entries(PARAMETERS);
  return rows.filter(([, row]) => is(row)).map(([name]) => name as ParameterName);
}
