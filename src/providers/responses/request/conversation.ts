import { hash } from 'node:crypto';

import type { Turn } from '../../turn.js';
import { readTurnState, TURN_STATE } from '../turn-state.js';

/** Headers with which a client names its conversation, in the forms of Codex of today and of February 2026. */
const NAMING_HEADERS = { thread: ['thread-id', 'thread_id'], session: ['session-id', 'session_id'] } as const;

/** Headers of Codex that reach the upstream under their names. */
export const CODEX_HEADERS = [
  'originator',
  'x-codex-beta-features',
  'x-codex-parent-thread-id',
  'x-codex-turn-metadata',
  'x-codex-window-id',
  'x-openai-internal-codex-responses-lite',
  'x-openai-subagent',
] as const;

/** The request headers that the provider reads. */
export const CONVERSATION_HEADERS: readonly string[] = [
  ...NAMING_HEADERS.thread,
  ...NAMING_HEADERS.session,
  TURN_STATE,
  ...CODEX_HEADERS,
];

/** Ids that fit into a header and into `prompt_cache_key`. */
const PLAIN_ID = /^[\x21-\x7e]{1,64}$/;

/** Who talks to an upstream. */
export interface Conversation {
  /** Distinguishes conversations within the service; two tenants never share one. */
  readonly key: string;
  /** What the upstream knows it by: visible ASCII, up to 64 characters. */
  readonly id: string;
  readonly sessionId: string;
  readonly threadId: string;
}

/**
 * The conversation of a turn: its `thread-id`, else its `session-id`, else its `prompt_cache_key`, else the session of its response.
 */
export function conversationOf(turn: Turn): Conversation {
  const { headers, parameters, tenant } = turn;
  const find = (names: readonly string[]): string | undefined =>
    names.map((name) => headers[name]).find((value) => value !== undefined && value !== '');
  const session = find(NAMING_HEADERS.session);
  const name = find(NAMING_HEADERS.thread) ?? session ?? nonEmpty(parameters.prompt_cache_key) ?? turn.sessionId;
  const id = toPlainId(name);
  return {
    key: hash('sha256', JSON.stringify([tenant, name]), 'base64url'),
    id,
    threadId: id,
    sessionId: session === undefined ? id : toPlainId(session),
  };
}

/** The turn state that the client sends back: it belongs to the same turn of its own as the request before. */
export function turnStateOf({ headers }: Turn): string | null {
  return readTurnState(headers[TURN_STATE]);
}

function nonEmpty(value: string | null | undefined): string | undefined {
  return value == null || value === '' ? undefined : value;
}

function toPlainId(name: string): string {
  return PLAIN_ID.test(name) ? name : hash('sha256', name, 'hex').slice(0, 32);
}
