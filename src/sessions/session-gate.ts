import { Injectable, Logger } from '@nestjs/common';

import type { Owner } from '../access/index.js';
import { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { type SessionLease, SessionLock, SessionStore } from '../state/index.js';
import { Clock } from '../time/index.js';
import { FreeSessions } from './free-sessions.js';

/** How often a session is tried again that another replica holds, ms. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;

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
  /** Aborts when nobody waits any more. */
  readonly signal?: AbortSignal;
  /** Called when somebody else took the session over. */
  readonly onLost?: () => void;
}

/** Lets one at a time write to a session, on whichever replica, and nobody to a full one. */
@Injectable()
export class SessionGate {
  private readonly logger = new Logger(SessionGate.name);
  private readonly freed = new FreeSessions();

  constructor(
    private readonly locks: SessionLock,
    private readonly sessions: SessionStore,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /** Throws ApiError 400 `session_limit_reached` for a session with SESSION_MAX_RESPONSES responses. */
  async refuseWhenFull(owner: Owner, sessionId: string): Promise<void> {
    const { SESSION_MAX_RESPONSES: most } = this.environment;
    if (most === 0 || !(await this.sessions.hasAtLeast(owner, sessionId, most))) return;
    const message = `The session has reached its maximum of ${most} responses. Fork it, or begin another one.`;
    throw ApiError.of('session_limit_reached', message, { param: 'x-session-id' });
  }

  /**
   * Waits for the lock of a session, and keeps it until it is released. Throws ApiError 409 `session_locked` after
   * SESSION_LOCK_TIMEOUT_MS, and the signal's reason.
   */
  async hold(owner: Owner, sessionId: string, { signal, onLost }: Waiter = {}): Promise<HeldSession> {
    const { SESSION_LOCK_TTL_MS: ttl, SESSION_LOCK_TIMEOUT_MS: timeout } = this.environment;
    const key = `${owner.length}:${owner}:${sessionId}`;
    const deadline = this.clock.now() + timeout;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const lease = await this.locks.tryAcquire(owner, sessionId, ttl);
      if (lease !== undefined) return this.keep(lease, key, onLost);
      const left = deadline - this.clock.now();
      if (left <= 0) throw sessionLocked();
      await this.pause(key, Math.min(pause, left), signal);
      signal?.throwIfAborted();
    }
  }

  /** Waits until this process gives the session back, but no longer than `ms`. */
  private async pause(key: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const stopListening = this.freed.listen(key, () => resolve(undefined));
    signal?.addEventListener('abort', resolve, { once: true });
    await this.clock.within(promise, ms);
    signal?.removeEventListener('abort', resolve);
    stopListening();
  }

  /** Renews a lease until it is released or lost. */
  private keep(lease: SessionLease, key: string, onLost: (() => void) | undefined): HeldSession {
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
        try {
          await lease.release();
        } catch (error) {
          this.logger.warn(`a session stays locked until its lease expires: ${String(error)}`);
        }
        this.freed.announce(key);
      },
    };
  }
}

function sessionLocked(): ApiError {
  return ApiError.of('session_locked', 'Another request is writing to this session. Please retry when it is done.', {
    param: 'x-session-id',
    headers: { 'retry-after': '1' },
  });
}
