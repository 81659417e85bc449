import type { Capabilities } from '../capabilities.js';
import { type ChatMessage, type ChatPart, textOf, toContent } from './chat-message.js';

/** Changes the role and position of system and developer messages to those that the upstream supports. */
export function placeSystemMessages(
  messages: readonly ChatMessage[],
  { developerRole, systemRole }: Capabilities,
): readonly ChatMessage[] {
  if (systemRole === 'anywhere') return developerRole ? messages : messages.map(asSystem);
  const end = messages.findIndex((message) => !isSystem(message));
  const count = end === -1 ? messages.length : end;
  const pictures = messages.slice(0, count).flatMap(({ content }) => picturesIn(content));
  const rest = [
    ...(pictures.length === 0 ? [] : [{ role: 'user', content: pictures } as const]),
    ...messages.slice(count).map((message) => (isSystem(message) ? asUser(message) : message)),
  ];
  if (count === 0) return rest;
  const text = messages
    .slice(0, count)
    .map(({ content }) => textOf(content))
    .join('\n\n');
  if (systemRole === 'first') return [{ role: developerRole ? 'developer' : 'system', content: text }, ...rest];
  return withPreface(text, rest);
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** The parts that are not text; they move to a user message. */
function picturesIn(content: ChatMessage['content']): readonly ChatPart[] {
  return typeof content === 'string' ? [] : (content ?? []).filter(({ type }) => type !== 'text');
}

function asSystem(message: ChatMessage): ChatMessage {
  return message.role === 'developer' ? { ...message, role: 'system' } : message;
}

function asUser(message: ChatMessage): ChatMessage {
  return { ...message, role: 'user' };
}

/** Prepends a text to the first message if it is the user's, or else adds a user message. */
function withPreface(text: string, [first, ...rest]: readonly ChatMessage[]): readonly ChatMessage[] {
  const preface: ChatPart = { type: 'text', text: `${text}\n` };
  if (first?.role !== 'user') {
    return [{ role: 'user', content: text }, ...(first === undefined ? [] : [first]), ...rest];
  }
  const parts = typeof first.content === 'string' ? [{ type: 'text', text: first.content }] : (first.content ?? []);
  return [{ ...first, content: toContent([preface, ...parts]) }, ...rest];
}
