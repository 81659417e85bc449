import type { Environment } from '../../config/index.js';
import type { Clock } from '../../time/index.js';
import type { ConversationStore } from '../conversation-store.js';
import { DeletionNotices } from '../deletion-notices.js';
import type { ResponseGraph } from '../response-graph.js';
import type { ResponseStore } from '../response-store.js';
import { RunNotices } from '../run-notices.js';
import type { SecretStore } from '../secret-store.js';
import type { SessionStore } from '../session-store.js';
import { StateBackend } from '../state-backend.js';
import type { WriteLock } from '../write-lock.js';
import { ConversationIndex } from './conversation-index.js';
import { RedisKeys } from './keys.js';
import { Locators } from './locators.js';
import { RedisEventLog } from './redis-event-log.js';
import { RedisJobQueue } from './redis-job-queue.js';
import { RedisRuns } from './redis-runs.js';
import { RunEnds } from './run-ends.js';
import { RunIndex } from './run-index.js';
import { RunSweep } from './run-sweep.js';
import { Redis } from './redis.js';
import { RedisConversationStore } from './redis-conversation-store.js';
import { RedisWriteLock } from './redis-write-lock.js';

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
  override readonly conversations: ConversationStore;
  override readonly locks: WriteLock;
  override readonly secrets: SecretStore = pending('secrets');
  override readonly log: RedisEventLog;
  override readonly jobs: RedisJobQueue;
  private readonly redis: Redis;
  private readonly sweep: RunSweep;

  constructor(
    settings: RedisSettings,
    protected readonly clock: Clock,
  ) {
    super();
    this.redis = new Redis(settings.REDIS_URL);
    const keys = new RedisKeys(settings.REDIS_PREFIX);
    const announce = (): void => this.runNotices.announceEnqueued();
    this.jobs = new RedisJobQueue(this.redis, keys.jobs, this.runNotices, announce, clock);
    const locks = new RedisWriteLock(this.redis, keys, settings.REDIS_COMMAND_TIMEOUT_MS);
    this.locks = locks;
    const index = new ConversationIndex(this.redis, keys, settings.CONTEXT_MAX_BYTES);
    this.conversations = new RedisConversationStore(this.redis, keys, locks, index, clock, settings.CONTEXT_MAX_BYTES);
    const locators = new Locators(this.redis, keys);
    const { redis, runNotices, jobs } = this;
    const runIndex = new RunIndex(redis, keys);
    const shared = { redis, keys, clock, jobs, index: runIndex };
    const notices = {
      logged: async () => undefined,
      ended: async (ids: readonly string[]) => runNotices.announceEnded(ids),
    };
    this.log = new RedisEventLog({ ...shared, locators, runNotices, notices });
    const ends = new RunEnds({ ...shared, conversations: index, locks, notices });
    const maxContextBytes = settings.CONTEXT_MAX_BYTES;
    const runs = new RedisRuns({ ...shared, locators, log: this.log, ends, maxContextBytes });
    this.sweep = new RunSweep({ ...shared, ends });
  }

  override async start(): Promise<void> {
    await this.redis.open();
    this.sweep.start();
  }

  override async stop(): Promise<void> {
    this.jobs.stop();
    await this.sweep.stop();
    await this.redis.close();
  }
}

/** PENDING: remove with the last part that is not written. */
function pending<T extends object>(part: string): T {
  const method = (name: string) => async (): Promise<never> => {
    throw new Error(`${part}.${name} is not written yet`);
  };
  return new Proxy({}, { get: (_target, name) => method(String(name)) }) as T;
}
