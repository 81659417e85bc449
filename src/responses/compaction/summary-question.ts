import { isConfigurationUpdate } from '../../context/index.js';
import { type IdGenerator, type Item, withoutUpstream } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';

/** Members of a request that concern its own answer. */
const OF_THE_TURN: ReadonlySet<string> = new Set([
  ...['background', 'context_management', 'conversation', 'include', 'max_tool_calls', 'previous_response_id'],
  ...['stream', 'stream_options', 'top_logprobs', 'truncation'],
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

/** What a model is asked when it is to summarise the context before it; COMPACTION_PROMPT replaces it. */
const PROMPT = `The conversation above has become too long and will be replaced by a summary that you write now. Whoever goes on with it, which may be you, will see only your summary and the latest messages of the user.

Write down, briefly but completely:
- what the user wants, with all requirements, preferences and constraints that still apply;
- what was done and decided so far, and why;
- facts that are needed later: names, paths, identifiers, numbers, results of tools, errors, exact wordings;
- what images and files show, as far as it matters;
- what is unfinished, and the next steps.

If there is an earlier summary, take over from it what still applies. Do not answer the user, and do not call tools. Write the summary only.`;

/** Stands before a summary, so that the model knows what it is. */
const HEADING = 'Summary of the conversation so far:';

/** The question for a summary of what stands before it. `custom` replaces the prompt of the service unless it is empty. */
export function askForSummary(custom: string, ids: IdGenerator): Item {
  const content = [{ type: 'input_text', text: custom === '' ? PROMPT : custom }];
  return { id: ids.next('msg'), type: 'message', status: 'completed', role: 'user', content };
}

/** Whether an item is the summary of an earlier compaction. */
export function isSummary({ type, role, content }: Item): boolean {
  if (type !== 'message' || role !== 'assistant' || !Array.isArray(content)) return false;
  const [first] = content as readonly { readonly text?: unknown }[];
  return typeof first?.text === 'string' && first.text.startsWith(HEADING);
}

/** The message that stands for what was summarised. Of the assistant, as it is the model's text and must not pass for the user's. */
export function toSummaryMessage(summary: string, ids: IdGenerator): Item {
  const content = [{ type: 'output_text', text: `${HEADING}\n\n${summary}`, annotations: [] }];
  return { id: ids.next('msg'), type: 'message', status: 'completed', role: 'assistant', content };
}
