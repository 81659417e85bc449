import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import type { ApiError } from '../../protocol/index.js';
import type { WriteLease } from '../index.js';
import { Clock, isPromise, type Timer } from '../../time/index.js';

/** Pauses between attempts to take a lock that another replica holds, ms. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;
/** How long a turn waits for the release of its lock, ms. */
const RELEASE_TIMEOUT_MS = 1000;
/** Pause before a lock that could not be released is released again, ms. */
const RELEASE_PAUSE_MS = 1000;

/** A held lock. */
export interface HeldLock {
  /** The fence of the lease, for saves; null without a lease. */
  readonly fence: number | null;
  /** Releases the lock. Never rejects: a lock that cannot be released is tried again, and expires. */
  release(): Promise<void>;
  /** Runs a save that releases the lock with what it writes. When it fails, the lock is still held. */
  releaseWith(save: () => void | Promise<void>): void | Promise<void>;
}

/** For turns without a lock. */
export const NO_LOCK: HeldLock = {
  fence: null,
  release: () => Promise.resolve(),
  releaseWith: (save) => save(),
};

/** A request for a lock. */
export interface LockRequest<Lease extends WriteLease> {
  /** The lock's name, with its tenant. */
  readonly key: string;
  /** Asks for the lock once; undefined while another one holds it. Its errors end the wait. */
  readonly tryAcquire: (ttlMs: number) => Promise<Lease | undefined>;
  /** The error after the longest wait. */
  readonly refuse: () => ApiError;
  /** Longest wait, ms. */
  readonly waitMs: number;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called when the lock is lost. */
  readonly onLost?: (() => void) | undefined;
}

/** Takes locks that are shared by all replicas, and renews them while they are held. */
@Injectable()
export class WriteGate implements OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger('WriteGate'));
  /** Only the first waiter of this process asks for a lock; the others wait for it. */
  private readonly queue = new NamedQueue();
  /** Of locks that could not be released. */
  private readonly pauses = new Set<Timer>();

  constructor(
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Waits for a lock and renews it until it is released. Throws the request's error after the longest wait, and the
   * signal's reason.
   */
  async hold<Lease extends WriteLease>(
    request: LockRequest<Lease>,
  ): Promise<{ readonly held: HeldLock; readonly lease: Lease }> {
    const deadline = this.clock.now() + request.waitMs;
    const place = this.queue.join(request.key);
    try {
      if (!place.isFirst) await this.waitFor(place.turn, deadline, request);
      const lease = await this.acquire(deadline, request);
      return { held: this.renewUntilReleased(lease, place, request.onLost), lease };
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  onApplicationShutdown(): void {
    for (const pause of this.pauses) pause.cancel();
  }

  private async acquire<Lease extends WriteLease>(deadline: number, request: LockRequest<Lease>): Promise<Lease> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const lease = await request.tryAcquire(this.environment.SESSION_LOCK_TTL_MS);
      if (lease !== undefined) return lease;
      const left = deadline - this.clock.now();
      if (left <= 0) throw request.refuse();
      await this.clock.sleep(Math.min(pause, left), request.signal);
      request.signal?.throwIfAborted();
    }
  }

  /** Throws the request's error at the deadline, and the signal's reason. */
  private async waitFor(
    turn: Promise<unknown>,
    deadline: number,
    { signal, refuse }: LockRequest<WriteLease>,
  ): Promise<void> {
    const { promise: aborted, resolve: abort } = Promise.withResolvers<unknown>();
    signal?.addEventListener('abort', abort, { once: true });
    const left = Math.max(0, deadline - this.clock.now());
    const waited = await this.clock.within(Promise.race([turn, aborted]), left);
    signal?.removeEventListener('abort', abort);
    signal?.throwIfAborted();
    if (waited === undefined) throw refuse();
  }

  private renewUntilReleased(lease: WriteLease, place: Place, onLost?: () => void): HeldLock {
    let state: 'held' | 'saving' | 'released' = 'held';
    const renew = async (): Promise<void> => {
      // If the database is unavailable, it may be back before the lease expires.
      const isOurs = await lease.renew().catch(() => true);
      if (state === 'released') return;
      // The lock may have been released by a save that is not confirmed yet.
      if (isOurs || state === 'saving') timer.refresh();
      else onLost?.();
    };
    const end = (): void => {
      state = 'released';
      timer.cancel();
    };
    const timer = this.clock.schedule(this.environment.SESSION_LOCK_TTL_MS / 3, () => void renew());
    return {
      fence: lease.fence,
      release: async () => {
        if (state === 'released') return;
        end();
        const expiresAt = this.clock.now() + this.environment.SESSION_LOCK_TTL_MS;
        await this.clock.within(this.giveBack(lease, expiresAt), RELEASE_TIMEOUT_MS);
        place.leave();
      },
      releaseWith: (save) => {
        const succeed = (): void => {
          end();
          place.leave();
        };
        const fail = (error: unknown): never => {
          state = 'held';
          throw error;
        };
        state = 'saving';
        try {
          const saving = save();
          if (isPromise(saving)) return saving.then(succeed, fail);
          succeed();
          return undefined;
        } catch (error) {
          return fail(error);
        }
      },
    };
  }

  /** Releases a lock, again and again until it expires: after an outage, its conversation would stay locked until then. */
  private async giveBack(lease: WriteLease, expiresAt: number): Promise<void> {
    try {
      await lease.release();
    } catch (error) {
      this.outages.warn('a lock was not released, and is tried again until it expires', String(error));
      if (this.clock.now() + RELEASE_PAUSE_MS >= expiresAt) return;
      const pause = this.clock.schedule(RELEASE_PAUSE_MS, () => {
        this.pauses.delete(pause);
        void this.giveBack(lease, expiresAt);
      });
      this.pauses.add(pause);
    }
  }
}

/** A place in a queue. */
interface Place {
  /** Whether it was the first when it was taken. */
  readonly isFirst: boolean;
  /** Resolves when it is first in the queue. */
  readonly turn: Promise<unknown>;

  /** Leaves the queue, at any position. */
  leave(): void;
}

/** Queues by name, first in, first out. */
class NamedQueue {
  private readonly queues = new Map<string, PromiseWithResolvers<undefined>[]>();

  join(name: string): Place {
    const queue = this.queues.get(name) ?? [];
    const place = Promise.withResolvers<undefined>();
    queue.push(place);
    this.queues.set(name, queue);
    queue[0]?.resolve(undefined);
    return {
      isFirst: queue[0] === place,
      turn: place.promise,
      leave: () => {
        const index = queue.indexOf(place);
        if (index >= 0) queue.splice(index, 1);
        queue[0]?.resolve(undefined);
        if (queue.length === 0 && this.queues.get(name) === queue) this.queues.delete(name);
      },
    };
  }
}
