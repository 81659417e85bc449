import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock, Timer } from '../../time/index.js';
import { DeletionNotices, RunNotices } from '../notices.js';
import { StateStartError, StoreUnavailableError } from '../errors.js';
import { RunGate } from '../in-process/run-gate.js';
import { keepOpening } from '../repeat.js';
import { SharedTime } from '../shared-time.js';
import { LONGEST_STOP_MS, StateBackend } from '../state-backend.js';
import { RedisClaims } from './claims.js';
import type { RedisSettings } from './connection-options.js';
import { ConversationIndex } from './conversation-index.js';
import { RedisConversationStore } from './conversations.js';
import { DanglingEntries } from './dangling-entries.js';
import { isPassing, reasonOf } from './errors.js';
import { RedisResponseGraph } from './graph.js';
import { ItemIndex } from './item-index.js';
import { RedisJobQueue } from './jobs.js';
import { RedisKeys } from './keys.js';
import { KnownVersions } from './known-versions.js';
import { RedisLimits } from './limits.js';
import { ListedResponses } from './listed-responses.js';
import { ResponseSlots } from './response-slots.js';
import { RedisWriteLock } from './locks.js';
import { RedisEventLog } from './log.js';
import { RedisNotices } from './notices.js';
import { Redis } from './redis.js';
import { evictionOf, startFaultOf } from './requirements.js';
import { RedisResponseStore } from './responses.js';
import { RunEnds } from './run-ends.js';
import { RunIndex } from './run-index.js';
import { RunSweep } from './run-sweep.js';
import { RedisRuns } from './runs.js';
import { RedisSecretStore } from './secrets.js';
import { RedisSessionStore } from './sessions.js';
import { RedisTombstones } from './tombstones.js';
import { RedisTransfer } from './transfer.js';
import { RedisUsageStore } from './usage.js';

/** How often Redis is asked, ms. */
const INTERVAL_MS = 60_000;

/** State in Redis, shared by all replicas. */
export class RedisBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: RedisResponseStore;
  override readonly runs: RedisRuns;
  override readonly graph: RedisResponseGraph;
  override readonly sessions: RedisSessionStore;
  override readonly conversations: RedisConversationStore;
  override readonly locks: RedisWriteLock;
  override readonly secrets: RedisSecretStore;
  override readonly claims: RedisClaims;
  override readonly log: RedisEventLog;
  override readonly jobs: RedisJobQueue;
  override readonly transfer: RedisTransfer;
  override readonly limits: RedisLimits;
  override readonly usage: RedisUsageStore;
  private readonly logger = new Logger('Redis');
  private readonly outages: OutageLog;
  private readonly redis: Redis;
  private readonly time: SharedTime;
  private readonly published: RedisNotices;
  private readonly sweep: RunSweep;
  private readonly eviction: EvictionWatch;
  private readonly stopping = new AbortController();

  /** Throws StateStartError when a file that REDIS_URL names cannot be read. */
  constructor(
    settings: RedisSettings,
    protected readonly clock: Clock,
  ) {
    super();
    const keys = new RedisKeys(settings.REDIS_PREFIX);
    this.outages = new OutageLog(this.logger, clock);
    this.redis = new Redis(settings, clock);
    const read = (): Promise<number> => this.redis.time();
    this.time = new SharedTime(clock, { name: 'Redis', read, notices: this.runNotices });
    this.eviction = new EvictionWatch(this.redis, clock);
    this.published = new RedisNotices(settings, this.redis, keys, this.notices, this.runNotices, clock);
    this.locks = new RedisWriteLock(this.redis, keys, settings.REDIS_COMMAND_TIMEOUT_MS);
    this.secrets = new RedisSecretStore(this.redis, keys);
    this.claims = new RedisClaims(this.redis, keys, clock);
    this.limits = new RedisLimits(this.redis, keys);
    this.usage = new RedisUsageStore(this.redis, keys, settings.USAGE_RETENTION_DAYS);
    const { redis, locks, published, usage } = this;
    const { CONTEXT_MAX_BYTES: maxBytes } = settings;
    const slots = new ResponseSlots(redis, keys, clock);
    const dangling = new DanglingEntries(redis, clock);
    const listed = new ListedResponses(redis, keys, slots, dangling, clock);
    const conversations = new ConversationIndex(redis, keys, maxBytes);
    const versions = new KnownVersions();
    this.jobs = new RedisJobQueue(redis, keys.jobs, this.runNotices, published, clock);
    const runParts = { redis, keys, clock, jobs: this.jobs, index: new RunIndex(redis, keys), notices: published };
    const gate = new RunGate();
    this.log = new RedisEventLog({ ...runParts, gate, slots, runNotices: this.runNotices });
    const ends = new RunEnds({ ...runParts, conversations, locks, usage });
    this.sweep = new RunSweep({ ...runParts, ends });
    this.transfer = new RedisTransfer({ ...runParts, ends, slots, conversations });
    const tombstones = new RedisTombstones(redis, keys, slots, published, clock);
    this.sessions = new RedisSessionStore(redis, keys, locks, listed, tombstones, clock);
    const parts = {
      slots,
      locks,
      listed,
      sessions: this.sessions,
      tombstones,
      conversations,
      usage,
      items: new ItemIndex(redis, keys, listed, dangling, maxBytes),
      versions,
      log: this.log,
    };
    this.responses = new RedisResponseStore(redis, keys, parts, clock, maxBytes);
    const { responses, log } = this;
    this.runs = new RedisRuns({
      ...runParts,
      gate,
      slots,
      log,
      ends,
      sessions: this.sessions,
      responses,
      maxContextBytes: maxBytes,
    });
    this.graph = new RedisResponseGraph(redis, keys, slots, listed, clock);
    this.conversations = new RedisConversationStore(redis, keys, locks, conversations, versions, clock, maxBytes);
  }

  /** Throws StateStartError for permanent errors, such as a wrong password or a server that would evict responses. */
  override async start(): Promise<void> {
    try {
      if (!(await this.tryToOpen())) void this.keepTrying();
    } catch (error) {
      this.redis.cut();
      throw error;
    }
    this.published.start();
    this.sweep.start();
    this.eviction.start();
  }

  /** Waits for the replies to what was sent, up to LONGEST_STOP_MS. */
  override async stop(): Promise<void> {
    this.stopping.abort();
    this.time.stop();
    this.jobs.pause();
    this.eviction.stop();
    const ended = Promise.all([this.sweep.stop(), this.published.stop()]).then(() => this.redis.quit());
    await this.clock.within(ended, LONGEST_STOP_MS);
    this.redis.cut();
  }

  /** False when Redis is temporarily unavailable. */
  private async tryToOpen(): Promise<boolean> {
    try {
      await this.redis.open(() => this.time.start());
    } catch (error) {
      const fault = startFaultOf(error);
      const isAway = error instanceof StoreUnavailableError || isPassing(error);
      if (fault !== undefined || !isAway) throw fault ?? error;
      this.outages.warn('Redis is not available yet', reasonOf(error));
      return false;
    }
    return true;
  }

  private keepTrying(): Promise<void> {
    const onFailure = (error: unknown): void => {
      // `/readyz` still answers 503; this is the reason.
      if (error instanceof StateStartError) this.outages.warn('Redis cannot be used', error.message);
      else this.logger.error('Redis cannot be used', error);
    };
    return keepOpening(() => this.tryToOpen(), { clock: this.clock, signal: this.stopping.signal, onFailure });
  }
}

/** Warns once when Redis is told while it runs to delete keys when its memory is full. The service goes on. */
class EvictionWatch {
  private readonly logger = new Logger('Redis');
  private timer: Timer | undefined;
  private warned: string | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.timer = this.clock.schedule(INTERVAL_MS, () => void this.look());
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Never rejects: what cannot be asked now is asked the next time. */
  private async look(): Promise<void> {
    try {
      const policies = (await this.redis.infos('memory')).map(evictionOf);
      const policy = policies.find((one) => one !== undefined);
      if (policy !== undefined && policy !== this.warned) {
        this.logger.warn(
          `maxmemory-policy is ${policy}: Redis deletes responses when its memory is full. Set it to noeviction.`,
        );
      }
      this.warned = policy;
    } catch {
      // Requests say that Redis is away.
    }
    this.timer?.refresh();
  }
}
