import type { IdGenerator, Item } from '../../protocol/index.js';

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
