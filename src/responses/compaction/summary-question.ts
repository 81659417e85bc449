import { isConfigurationUpdate } from '../../context/index.js';
import { type Item, withoutUpstream } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';

/** Members of a request that concern its own answer. */
const OF_THE_TURN: ReadonlySet<string> = new Set([
  'background',
  'context_management',
  'conversation',
  'include',
  'max_tool_calls',
  'previous_response_id',
  'stream',
  'stream_options',
  'top_logprobs',
  'truncation',
]);

/**
 * The question for the summary of a context, in which its prompt comes last. Model, instructions, tools and sampling are those of the
 * turn, so that an upstream finds the context in its cache; no tool can be called, and the answer is plain text.
 */
export function toSummaryQuestion(turn: Turn, items: readonly Item[], mostTokens: number): Turn {
  // An upstream would apply an update of the form of answers to the summary.
  const context = items.filter((item) => !isConfigurationUpdate(item));
  const { responseId, tenant, sessionId, settings, headers, parent } = turn;
  const { conversation: _conversation, ...others } = settings;
  const sent = Object.entries(turn.parameters).filter(([name]) => !OF_THE_TURN.has(name));
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
      ...(Object.fromEntries(sent) as Turn['parameters']),
      max_output_tokens: mostTokens,
      store: false,
      tool_choice: 'none',
      ...(turn.parameters.text == null ? {} : { text: { format: { type: 'text' }, verbosity } }),
    },
    include: [],
    headers,
    purpose: 'summary',
    // The upstream that has answered has the context in its cache, but does not go on from its own state.
    parent: parent && { ...parent, origin: withoutUpstream(parent.origin) },
  };
}
