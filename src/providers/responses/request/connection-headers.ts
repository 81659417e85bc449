import type { Turn } from '../../turn.js';
import type { Profile } from '../profile.js';
import { type Conversation, CODEX_HEADERS } from './conversation.js';

/** What each header of a profile carries. */
const VALUES: Readonly<Record<string, keyof Conversation>> = {
  session_id: 'id',
  'session-id': 'sessionId',
  'thread-id': 'threadId',
  'x-client-request-id': 'threadId',
};

/** Characters of a forwarded header: servers limit all headers together, most to 16 KiB. */
const LONGEST_HEADER = 4096;

/** What headers may contain; values may come from `client_metadata`, which may hold anything. */
const HEADER_VALUE = /^[\t\x20-\x7e]+$/;

/** Headers that name the conversation, for a socket's handshake and for HTTP requests. */
export function connectionHeaders(conversation: Conversation, profile: Profile): Record<string, string> {
  return Object.fromEntries(profile.conversationHeaders.map((name) => [name, conversation[VALUES[name] ?? 'id']]));
}

/** The headers of Codex that its request had. On a socket, `client_metadata` carries those of a turn. */
export function forwardedHeaders({ headers }: Turn): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of CODEX_HEADERS) {
    const value = headers[name];
    if (value !== undefined && value.length <= LONGEST_HEADER && HEADER_VALUE.test(value)) forwarded[name] = value;
  }
  return forwarded;
}
