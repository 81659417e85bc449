import type { Tenant } from '../access/index.js';

/** What is forked: a session, or its beginning up to and including a response. */
export interface ForkRequest {
  readonly sourceId: string;
  readonly targetId: string;
  readonly upToResponseId?: string;
  /** Most responses that the new session may share. */
  readonly limit?: number;
}

/** How many responses the new session shares, or why there is none. */
export type ForkOutcome =
  | { readonly responses: number }
  | { readonly refused: 'source_not_found' | 'response_not_found' | 'target_exists' | 'too_many_responses' };

/**
 * The sessions that responses belong to. A session is there as long as it has a response; nothing else makes or keeps one.
 * A response may belong to several (docs/decisions/2026-11-21-sessions.md). Names are up to 256 visible ASCII characters.
 */
export abstract class SessionStore {
  /** Lets a new session share the responses of another one, in the order of their creation. No item is copied. */
  abstract fork(tenant: Tenant, request: ForkRequest): Promise<ForkOutcome>;

  /** Deletes a session, and its responses that belong to no other one; false when there is none. */
  abstract delete(tenant: Tenant, sessionId: string): Promise<boolean>;

  /** Whether a session has at least so many responses. */
  abstract hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean>;
}
