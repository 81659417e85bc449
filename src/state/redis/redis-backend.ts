import type { Environment } from '../../config/index.js';
import type { Clock } from '../../time/index.js';
import type { ConversationStore } from '../conversation-store.js';
import { DeletionNotices } from '../deletion-notices.js';
import type { EventLog } from '../event-log.js';
import type { ResponseGraph } from '../response-graph.js';
import type { ResponseStore } from '../response-store.js';
import { RunNotices } from '../run-notices.js';
import type { SecretStore } from '../secret-store.js';
import type { SessionStore } from '../session-store.js';
import { StateBackend } from '../state-backend.js';
import type { WriteLock } from '../write-lock.js';
import { RedisKeys } from './keys.js';
import { RedisJobQueue } from './redis-job-queue.js';
import { Redis } from './redis.js';

/** The variables of Redis. */
export type RedisSettings = Pick<
  Environment,
  'REDIS_URL' | 'REDIS_PREFIX' | 'REDIS_WAIT_REPLICAS' | 'REDIS_COMMAND_TIMEOUT_MS' | 'CONTEXT_MAX_BYTES'
>;

/** State in Redis, shared by all replicas. */
export class RedisBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: ResponseStore = pending('responses');
  override readonly graph: ResponseGraph = pending('graph');
  override readonly sessions: SessionStore = pending('sessions');
  override readonly conversations: ConversationStore = pending('conversations');
  override readonly locks: WriteLock = pending('locks');
  override readonly secrets: SecretStore = pending('secrets');
  override readonly log: EventLog = pending('log');
  override readonly jobs: RedisJobQueue;
  private readonly redis: Redis;

  constructor(
    settings: RedisSettings,
    protected readonly clock: Clock,
  ) {
    super();
    this.redis = new Redis(settings.REDIS_URL);
    const keys = new RedisKeys(settings.REDIS_PREFIX);
    const announce = (): void => this.runNotices.announceEnqueued();
    this.jobs = new RedisJobQueue(this.redis, keys.jobs, this.runNotices, announce, clock);
  }

  override start(): Promise<void> {
    return this.redis.open();
  }

  override stop(): Promise<void> {
    this.jobs.stop();
    return this.redis.close();
  }
}

/** PENDING: remove with the last part that is not written. */
function pending<T extends object>(part: string): T {
  const method = (name: string) => async (): Promise<never> => {
    throw new Error(`${part}.${name} is not written yet`);
  };
  return new Proxy({}, { get: (_target, name) => method(String(name)) }) as T;
}
