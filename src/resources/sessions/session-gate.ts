import { Injectable } from '@nestjs/common';

import { type Tenant, tenantKey } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { type HeldLock, WriteGate } from '../../state/locks/index.js';
import { ApiError } from '../../protocol/index.js';
import { SessionFullError, SessionStore, WriteLock } from '../../state/index.js';

/** A request for a session's lock. */
export interface Waiter {
  /** The parameter that named the session, for error messages. */
  readonly param: string | null;
  /** Longest wait, ms; SESSION_LOCK_TIMEOUT_MS by default. */
  readonly waitMs?: number;
  /** Aborts the wait. */
  readonly signal?: AbortSignal;
  /** Called when the lock is lost. */
  readonly onLost?: () => void;
}

/** Serialises writes to a session across replicas, and enforces its size limit. */
@Injectable()
export class SessionGate {
  constructor(
    private readonly gate: WriteGate,
    private readonly locks: WriteLock,
    private readonly sessions: SessionStore,
    private readonly environment: Environment,
  ) {}

  /** Most responses that the session of a turn may have with its own, if the turn names it; undefined without a limit. */
  limitOf({ session }: { readonly session: object | null }): number | undefined {
    const { SESSION_MAX_RESPONSES: most } = this.environment;
    return session === null || most === 0 ? undefined : most;
  }

  /**
   * Throws ApiError 400 `session_limit_reached`, as a rejected promise, for a session with SESSION_MAX_RESPONSES
   * responses, so that no model works for one that could not be saved. Without a limit it returns no promise. The save decides.
   */
  refuseWhenFull(tenant: Tenant, sessionId: string, param: string): void | Promise<void> {
    const { SESSION_MAX_RESPONSES: most } = this.environment;
    if (most > 0) return this.refuseAt(most, tenant, sessionId, param);
  }

  /**
   * Waits for the lock of a session and renews it until it is released. Throws ApiError 409 `session_locked` after
   * the longest wait, and the signal's reason.
   */
  async hold(tenant: Tenant, sessionId: string, waiter: Waiter): Promise<HeldLock> {
    const { waitMs = this.environment.SESSION_LOCK_TIMEOUT_MS, signal, onLost } = waiter;
    const { held } = await this.gate.hold({
      key: tenantKey(tenant, sessionId),
      tryAcquire: (ttlMs) => this.locks.tryAcquire(tenant, sessionId, ttlMs),
      refuse: () => sessionLocked(waiter),
      waitMs,
      signal,
      onLost,
    });
    return held;
  }

  private async refuseAt(most: number, tenant: Tenant, sessionId: string, param: string): Promise<void> {
    if (!(await this.sessions.hasAtLeast(tenant, sessionId, most))) return;
    throw new SessionFullError(most).toApiError(param);
  }
}

function sessionLocked({ param }: Waiter): ApiError {
  const message = 'Another request is writing to this session. Please retry when it is done.';
  return ApiError.of('session_locked', message, { param, headers: { 'retry-after': '1' } });
}
