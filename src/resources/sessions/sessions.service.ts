import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import {
  ApiError,
  type ListObject,
  type ResponseWithText,
  toListObject,
  withOutputText,
} from '../../protocol/index.js';
import { type PageRequest, ResponseGraph, SessionStore, UnknownCursorError } from '../../state/index.js';
import type { ForkBody } from './fork-body.js';
import { SessionGate } from './session-gate.js';

/**
 * Operations on sessions (docs/decisions/2026-11-21-sessions.md). A session without responses does not exist, and sessions of other tenants
 * return 404. Changes wait for the lock of the session, so that no turn of it is running: 409 `session_locked` after
 * SESSION_LOCK_TIMEOUT_MS.
 */
@Injectable()
export class SessionsService {
  constructor(
    private readonly sessions: SessionStore,
    private readonly graph: ResponseGraph,
    private readonly gate: SessionGate,
    private readonly environment: Environment,
  ) {}

  /**
   * The responses of a session, oldest first or newest first. Behind its last response, which has just gone, the list is empty.
   * Throws ApiError 404, or UnknownCursorError.
   */
  async responses(tenant: Tenant, sessionId: string, page: PageRequest): Promise<ListObject<ResponseWithText>> {
    const hasCursor = page.after !== undefined || page.before !== undefined;
    if (!hasCursor) await this.requireThere(tenant, sessionId);
    try {
      const { data, hasMore } = await this.graph.list(tenant, { sessionId }, page);
      return toListObject(data.map(withOutputText), hasMore);
    } catch (error) {
      if (error instanceof UnknownCursorError) await this.requireThere(tenant, sessionId);
      throw error;
    }
  }

  /**
   * Creates a session that shares the responses of another one, and returns their number. Throws ApiError 404, 400 for
   * a response that is not in the session, for more than SESSION_MAX_RESPONSES and for more than SESSION_MAX_FORKS, and 409 `session_exists` for a
   * target that already has responses.
   */
  async fork(tenant: Tenant, sourceId: string, body: ForkBody): Promise<number> {
    const { target_session_id: targetId, up_to_response_id: upTo } = body;
    const held = await this.gate.hold(tenant, targetId, { param: 'target_session_id' });
    try {
      const { SESSION_MAX_RESPONSES: limit, SESSION_MAX_FORKS: forkLimit } = this.environment;
      const request = {
        sourceId,
        targetId,
        ...(upTo == null ? {} : { upToResponseId: upTo }),
        ...(limit === 0 ? {} : { limit }),
        ...(forkLimit === 0 ? {} : { forkLimit }),
      };
      const outcome = await this.sessions.fork(tenant, request);
      if ('responses' in outcome) return outcome.responses;
      switch (outcome.refused) {
        case 'source_not_found':
          throw ApiError.notFound('Session', sourceId);
        case 'response_not_found':
          throw ApiError.of('invalid_value', `Response with id '${String(upTo)}' is not in session '${sourceId}'.`, {
            param: 'up_to_response_id',
          });
        case 'target_exists':
          throw ApiError.of('session_exists', `Session '${targetId}' already has responses. Fork into a new one.`, {
            param: 'target_session_id',
          });
        case 'too_many_responses':
          throw ApiError.of('session_limit_reached', `A session can have at most ${limit} responses.`, {
            param: 'up_to_response_id',
          });
        case 'too_many_forks':
          throw ApiError.of(
            'session_limit_reached',
            `At most ${forkLimit} sessions can share a response of session '${sourceId}'. Delete those that are not needed any more.`,
            { param: 'target_session_id' },
          );
      }
    } finally {
      await held.release();
    }
  }

  /** Deletes a session, and its responses that no other session shares. Throws ApiError 404. */
  async delete(tenant: Tenant, sessionId: string): Promise<void> {
    const held = await this.gate.hold(tenant, sessionId, { param: null });
    try {
      if (!(await this.sessions.delete(tenant, sessionId))) throw ApiError.notFound('Session', sessionId);
    } finally {
      await held.release();
    }
  }

  private async requireThere(tenant: Tenant, sessionId: string): Promise<void> {
    if (!(await this.sessions.hasAtLeast(tenant, sessionId, 1))) throw ApiError.notFound('Session', sessionId);
  }
}
