/** A content part of a Chat Completions message. */
export interface ChatPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A call within an assistant message. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A Chat Completions message. Other members differ between servers. */
export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly ChatPart[] | null;
  readonly name?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly [member: string]: unknown;
}

/** Whether a part says something. Servers before Anthropic's and Gemini's models refuse empty texts. */
export function isSaid({ type, text }: ChatPart): boolean {
  return type !== 'text' || text !== '';
}

/** The text of a message's content, one line per part. */
export function textOf(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  const texts = (content ?? []).map(({ text }) => text).filter((text) => typeof text === 'string');
  return texts.join('\n');
}

/** The shortest form of content: a string if all parts are nothing but text. */
export function toContent(parts: readonly ChatPart[]): string | readonly ChatPart[] {
  return parts.every(isPlainText) ? textOf(parts) : parts;
}

function isPlainText(part: ChatPart): boolean {
  for (const member in part) if (member !== 'type' && member !== 'text') return false;
  return part.type === 'text';
}
