import type { Tenant } from '../access/index.js';

/** The source and target of a fork: a whole session, or its responses up to and including one of them. */
export interface ForkRequest {
  readonly sourceId: string;
  readonly targetId: string;
  readonly upToResponseId?: string;
  /** Most responses to share. */
  readonly limit?: number;
  /** Most sessions that may share a response with the one in which it was made; only the first response is checked: every fork has it. */
  readonly forkLimit?: number;
}

/** The number of shared responses, or why the fork was refused. */
export type ForkOutcome =
  | { readonly responses: number }
  | {
      readonly refused:
        'source_not_found' | 'response_not_found' | 'target_exists' | 'too_many_responses' | 'too_many_forks';
    };

/**
 * The sessions of responses. A session exists while it has a response. A response may belong to several
 * (docs/decisions/2026-11-21-sessions.md). Names are up to 256 visible ASCII characters.
 */
export abstract class SessionStore {
  /**
   * Creates a session that shares the responses of another one, in the order of their creation. Items are not copied.
   */
  abstract fork(tenant: Tenant, request: ForkRequest): Promise<ForkOutcome>;

  /** Deletes a session, and its responses that belong to no other one; false when it does not exist. */
  abstract delete(tenant: Tenant, sessionId: string): Promise<boolean>;

  /** Whether a session has at least so many responses. */
  abstract hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean>;
}
