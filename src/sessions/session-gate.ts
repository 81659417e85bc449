import { Injectable, Logger } from '@nestjs/common';

import { type Tenant, tenantKey } from '../access/index.js';
import { Environment } from '../config/index.js';
import { OutageLog } from '../logging/index.js';
import { ApiError } from '../protocol/index.js';
import { type SessionLease, SessionLock, SessionStore } from '../state/index.js';
import { Clock } from '../time/index.js';
import { NamedQueue, type Place } from './named-queue.js';

/** Pauses between attempts to lock a session that another replica holds, ms. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;
/** Time limit for releasing a lock, ms; it expires anyway. */
const RELEASE_TIMEOUT_MS = 1000;

/** A locked session. */
export interface HeldSession {
  /** The fence of the lease, for saves; null without a lease. */
  readonly fence: number | null;

  /** Releases the lock. Never rejects: a lock that is not released expires. */
  release(): Promise<void>;
}

/** For turns without a lock. */
export const NO_SESSION: HeldSession = { fence: null, release: () => Promise.resolve() };

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
  private readonly outages = new OutageLog(new Logger(SessionGate.name));
  /** Only the first waiter of this process asks for the lock; the others wait for it. */
  private readonly queue = new NamedQueue();

  constructor(
    private readonly locks: SessionLock,
    private readonly sessions: SessionStore,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Throws ApiError 400 `session_limit_reached`, as a rejected promise, for a session with SESSION_MAX_RESPONSES
   * responses. Without a limit it returns no promise.
   */
  refuseWhenFull(tenant: Tenant, sessionId: string, param: string): void | Promise<void> {
    const { SESSION_MAX_RESPONSES: most } = this.environment;
    if (most > 0) return this.refuseAt(most, tenant, sessionId, param);
  }

  /**
   * Waits for the lock of a session and renews it until it is released. Throws ApiError 409 `session_locked` after
   * the longest wait, and the signal's reason.
   */
  async hold(tenant: Tenant, sessionId: string, waiter: Waiter): Promise<HeldSession> {
    const { waitMs = this.environment.SESSION_LOCK_TIMEOUT_MS } = waiter;
    const deadline = this.clock.now() + waitMs;
    const place = this.queue.join(tenantKey(tenant, sessionId));
    try {
      await this.waitFor(place.turn, deadline, waiter);
      const lease = await this.acquire(tenant, sessionId, deadline, waiter);
      return this.renewUntilReleased(lease, place, waiter);
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  private async refuseAt(most: number, tenant: Tenant, sessionId: string, param: string): Promise<void> {
    if (!(await this.sessions.hasAtLeast(tenant, sessionId, most))) return;
    const message = `The session has reached its maximum of ${most} responses. Start a new session, or fork this one up to an earlier response.`;
    throw ApiError.of('session_limit_reached', message, { param });
  }

  private async acquire(tenant: Tenant, sessionId: string, deadline: number, waiter: Waiter): Promise<SessionLease> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const lease = await this.locks.tryAcquire(tenant, sessionId, this.environment.SESSION_LOCK_TTL_MS);
      if (lease !== undefined) return lease;
      const left = deadline - this.clock.now();
      if (left <= 0) throw sessionLocked(waiter);
      await this.clock.sleep(Math.min(pause, left), waiter.signal);
      waiter.signal?.throwIfAborted();
    }
  }

  /** Throws ApiError 409 at the deadline, and the signal's reason. */
  private async waitFor(turn: Promise<unknown>, deadline: number, waiter: Waiter): Promise<void> {
    const { signal } = waiter;
    const { promise: aborted, resolve: abort } = Promise.withResolvers<unknown>();
    signal?.addEventListener('abort', abort, { once: true });
    const left = Math.max(0, deadline - this.clock.now());
    const waited = await this.clock.within(Promise.race([turn, aborted]), left);
    signal?.removeEventListener('abort', abort);
    signal?.throwIfAborted();
    if (waited === undefined) throw sessionLocked(waiter);
  }

  /** Renews a lease until it is released or lost. */
  private renewUntilReleased(lease: SessionLease, place: Place, { onLost }: Waiter): HeldSession {
    let released = false;
    const renew = async (): Promise<void> => {
      // If the database is unavailable, it may be back before the lease expires.
      const isOurs = await lease.renew().catch(() => true);
      if (released) return;
      if (isOurs) timer.refresh();
      else onLost?.();
    };
    const timer = this.clock.schedule(this.environment.SESSION_LOCK_TTL_MS / 3, () => void renew());
    return {
      fence: lease.fence,
      release: async () => {
        if (released) return;
        released = true;
        timer.cancel();
        await this.clock.within(this.giveBack(lease), RELEASE_TIMEOUT_MS);
        place.leave();
      },
    };
  }

  private async giveBack(lease: SessionLease): Promise<void> {
    try {
      await lease.release();
    } catch (error) {
      this.outages.warn('the lock of a session was not released and stays until it expires', String(error));
    }
  }
}

function sessionLocked({ param }: Waiter): ApiError {
  const message = 'Another request is writing to this session. Please retry when it is done.';
  return ApiError.of('session_locked', message, { param, headers: { 'retry-after': '1' } });
}
