import { Injectable, Logger } from '@nestjs/common';

import { type Tenant, ownedKey } from '../access/index.js';
import { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { type SessionLease, SessionLock, SessionStore } from '../state/index.js';
import { Clock } from '../time/index.js';
import { NamedQueue, type Place } from './named-queue.js';

/** How often a session is tried again that another replica holds, ms. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;
/** How long a turn may be held up by giving its session back, ms; the lock expires anyway. */
const RELEASE_TIMEOUT_MS = 1000;

/** A session that is held. */
export interface HeldSession {
  /** The lease under which its holder may save; null when it holds none. */
  readonly fence: number | null;

  /** Gives it back. It never rejects: a lock that cannot be given back expires. */
  release(): Promise<void>;
}

/** For turns that hold no session. */
export const NO_SESSION: HeldSession = { fence: null, release: () => Promise.resolve() };

/** Who waits for a session. */
export interface Waiter {
  /** What named the session, for the words of a refusal. */
  readonly param: string | null;
  /** Aborts when nobody waits any more. */
  readonly signal?: AbortSignal;
  /** Called when somebody else took the session over. */
  readonly onLost?: () => void;
}

/** Lets one at a time write to a session, on whichever replica, and nobody to a full one. */
@Injectable()
export class SessionGate {
  private readonly logger = new Logger(SessionGate.name);
  /** Only the first of this process asks for the lock; the others wait for that one. */
  private readonly queue = new NamedQueue();

  constructor(
    private readonly locks: SessionLock,
    private readonly sessions: SessionStore,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Throws ApiError 400 `session_limit_reached`, as a rejected promise, for a session with SESSION_MAX_RESPONSES responses.
   * Where sessions have no limit there is nothing to ask, and no promise.
   */
  refuseWhenFull(tenant: Tenant, sessionId: string, param: string): void | Promise<void> {
    const { SESSION_MAX_RESPONSES: most } = this.environment;
    if (most > 0) return this.refuseAt(most, tenant, sessionId, param);
  }

  /**
   * Waits for the lock of a session, and keeps it until it is released. Throws ApiError 409 `session_locked` after
   * SESSION_LOCK_TIMEOUT_MS, and the signal's reason.
   */
  async hold(tenant: Tenant, sessionId: string, waiter: Waiter): Promise<HeldSession> {
    const deadline = this.clock.now() + this.environment.SESSION_LOCK_TIMEOUT_MS;
    const place = this.queue.join(ownedKey(tenant, sessionId));
    try {
      await this.waitFor(place.turn, deadline, waiter);
      const lease = await this.acquire(tenant, sessionId, deadline, waiter);
      return this.keep(lease, place, waiter);
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  private async refuseAt(most: number, tenant: Tenant, sessionId: string, param: string): Promise<void> {
    if (!(await this.sessions.hasAtLeast(tenant, sessionId, most))) return;
    const message = `The session has reached its maximum of ${most} responses. Begin another one, or fork it up to an earlier response.`;
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

  /** Throws when the time is up, and the signal's reason. */
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
  private keep(lease: SessionLease, place: Place, { onLost }: Waiter): HeldSession {
    let released = false;
    const renew = async (): Promise<void> => {
      // Where the database is away for now, it may be back before the lease expires.
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
      this.logger.warn(`a session stays locked until its lease expires: ${String(error)}`);
    }
  }
}

function sessionLocked({ param }: Waiter): ApiError {
  const message = 'Another request is writing to this session. Please retry when it is done.';
  return ApiError.of('session_locked', message, { param, headers: { 'retry-after': '1' } });
}
