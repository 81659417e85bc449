import { ModelProvider } from '../../src/index.js';
import type { Item } from '../../src/protocol/index.js';
import type { ModelEvent, ModelInfo, Turn } from '../../src/providers/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';

/** The last input item of a turn that asks for a compaction. */
export const TRIGGER = { type: 'compaction_trigger' };

/** `context_management` with the lowest threshold. */
export const EARLY = [{ type: 'compaction' as const, compact_threshold: 1000 }];

/** A text of about so many tokens that begins with a name. */
export function longText(name: string, tokens: number): string {
  return `${name}${' word'.repeat(tokens)}`;
}

/** A scripted model with a window of 4000 tokens. */
@ModelProvider('scripted')
export class SmallProvider extends ScriptedProvider {
  override find(model: string): ModelInfo {
    return { ...super.find(model), contextWindow: 4000 };
  }
}

/** A text as an answer, with tokens that tell it from others. */
export function say(delta: string, input = 10, output = 1): readonly ModelEvent[] {
  return [
    { type: 'text', delta },
    { type: 'usage', input, output },
    { type: 'finish', reason: 'stop' },
  ];
}

/** The items of a context, each as its role or type with the first word of its text. */
export function outline(items: readonly Item[]): readonly string[] {
  return items.map((item) => {
    const who = typeof item.role === 'string' ? item.role : item.type;
    return `${who} ${firstWordOf(item)}`.trim();
  });
}

/** The context of a turn in the same way; of a question for a summary without its prompt. */
export function seenIn({ context, purpose }: Turn): readonly string[] {
  return outline(purpose === 'summary' ? context.slice(0, -1) : context);
}

/** The first word; of a summary the first word behind its heading, in brackets. */
function firstWordOf({ content, output, call_id: callId }: Item): string {
  if (typeof callId === 'string') return callId;
  const parts = content ?? output;
  if (!Array.isArray(parts)) return '';
  const { type, text } = parts[0] as { readonly type: string; readonly text?: string };
  if (text === undefined) return type;
  const summary = /^Summary of the conversation so far:\n\n(\S*)/.exec(text);
  return summary === null ? (text.split(/\s/)[0] ?? '') : `[${summary[1]}]`;
}
