import type { Item } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';

/**
 * The question for the summary of a context, in which its prompt comes last. Model, instructions, tools and sampling are those of the
 * turn, so that an upstream finds the context in its cache; no tool can be called, and the answer is plain text.
 */
export function toSummaryQuestion(turn: Turn, context: readonly Item[], mostTokens: number): Turn {
  const { responseId, tenant, sessionId, settings, headers } = turn;
  const { conversation: _conversation, ...others } = settings;
  const {
    background: _background,
    context_management: _management,
    conversation: _name,
    include: _include,
    max_tool_calls: _calls,
    previous_response_id: _previous,
    stream: _stream,
    stream_options: _options,
    top_logprobs: _logprobs,
    truncation: _truncation,
    ...sent
  } = turn.parameters;
  const { verbosity } = settings.text;
  return {
    responseId,
    tenant,
    sessionId,
    input: context,
    context,
    settings: {
      ...others,
      max_output_tokens: mostTokens,
      max_tool_calls: null,
      previous_response_id: null,
      store: false,
      text: { format: { type: 'text' }, verbosity },
      tool_choice: 'none',
      top_logprobs: 0,
      truncation: 'disabled',
    },
    parameters: {
      ...sent,
      max_output_tokens: mostTokens,
      store: false,
      tool_choice: 'none',
      ...(sent.text == null ? {} : { text: { format: { type: 'text' }, verbosity } }),
    },
    include: [],
    headers,
    purpose: 'summary',
    parent: null,
  };
}
