import { Logger } from '@nestjs/common';

import { Backoff, type Clock } from '../../time/index.js';
import type { ConversationStore } from '../conversation-store.js';
import { DeletionNotices } from '../deletion-notices.js';
import { describe } from '../driver-errors.js';
import { StateStartError } from '../errors.js';
import type { EventLog } from '../event-log.js';
import type { JobQueue } from '../job-queue.js';
import { PAUSES } from '../pauses.js';
import type { ResponseGraph } from '../response-graph.js';
import type { ResponseStore } from '../response-store.js';
import { RunNotices } from '../run-notices.js';
import type { SessionStore } from '../session-store.js';
import { StateBackend } from '../state-backend.js';
import type { RedisSettings } from './connection-options.js';
import { RedisKeys } from './keys.js';
import { Redis } from './redis.js';
import { isPassing, isRefusal } from './redis-errors.js';
import { RedisNotices } from './redis-notices.js';
import { RedisSecretStore } from './redis-secret-store.js';
import { RedisWriteLock } from './redis-write-lock.js';
import { refusalOf } from './requirements.js';

/** State in Redis, shared by all replicas. */
export class RedisBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: ResponseStore = pending('responses');
  override readonly graph: ResponseGraph = pending('graph');
  override readonly sessions: SessionStore = pending('sessions');
  override readonly conversations: ConversationStore = pending('conversations');
  override readonly locks: RedisWriteLock;
  override readonly secrets: RedisSecretStore;
  override readonly log: EventLog = pending('log');
  override readonly jobs: JobQueue = pending('jobs');
  private readonly logger = new Logger('Redis');
  private readonly redis: Redis;
  private readonly published: RedisNotices;
  private readonly stopping = new AbortController();

  /** Throws StateStartError when a file that REDIS_URL names cannot be read. */
  constructor(
    settings: RedisSettings,
    protected readonly clock: Clock,
  ) {
    super();
    const keys = new RedisKeys(settings.REDIS_PREFIX);
    this.redis = new Redis(settings, clock);
    this.published = new RedisNotices(settings, this.redis, keys, this.notices, this.runNotices, clock);
    this.locks = new RedisWriteLock(this.redis, keys, settings.REDIS_COMMAND_TIMEOUT_MS);
    this.secrets = new RedisSecretStore(this.redis, keys);
  }

  /** Throws StateStartError for permanent errors, such as a wrong password or a server that would evict responses. */
  override async start(): Promise<void> {
    try {
      if (!(await this.tryToOpen())) void this.keepTrying();
    } catch (error) {
      await this.redis.close();
      throw error;
    }
    this.published.start();
  }

  override async stop(): Promise<void> {
    this.stopping.abort();
    await this.published.stop();
    await this.redis.close();
  }

  /** False when Redis is temporarily unavailable. */
  private async tryToOpen(): Promise<boolean> {
    try {
      await this.redis.open();
    } catch (error) {
      if (isRefusal(error)) throw refusalOf(error);
      if (error instanceof StateStartError || !isPassing(error)) throw error;
      this.logger.warn(`Redis is not available yet: ${describe(error)}`);
      return false;
    }
    return true;
  }

  private async keepTrying(): Promise<void> {
    const backoff = new Backoff(this.clock, PAUSES);
    for (;;) {
      await this.clock.sleep(backoff.failed(), this.stopping.signal);
      if (this.stopping.signal.aborted) return;
      try {
        if (await this.tryToOpen()) return;
      } catch (error) {
        // `/readyz` still answers 503; this is the reason.
        this.logger.error('Redis cannot be used', error);
      }
    }
  }
}

/** PENDING: remove with the last part that is not written. */
function pending<T extends object>(part: string): T {
  const method = (name: string) => async (): Promise<never> => {
    throw new Error(`${part}.${name} is not written yet`);
  };
  return new Proxy({}, { get: (_target, name) => method(String(name)) }) as T;
}
