import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { QueueName } from '../job-queue.js';
import { toKey } from '../keys.js';
import { withoutConversation, withoutParent } from '../moving.js';
import { type MovedJob, type MovedRecord, type MovedResponse, StateTransfer } from '../state-transfer.js';
import type { ConversationIndex } from './conversation-index.js';
import { identify, type RedisJobQueue } from './jobs.js';
import type { RedisKeys } from './keys.js';
import type { ResponseSlots } from './response-slots.js';
import { slotOf, MoveIn, responseKeysOf } from './move-in.js';
import { type Catalogue, readChains, readConversation, takeStock } from './move-out.js';
import type { Redis } from './redis.js';
import type { RunEnds } from './run-ends.js';
import type { RunIndex } from './run-index.js';
import type { Command } from './script.js';
import type { StoredRun } from './scripts/runs.js';
import { KEEP_JOB } from './scripts/transfer.js';

const QUEUES: readonly QueueName[] = ['turns', 'webhooks'];
/** Background responses that are looked at together. */
const RUNS = 200;

/** What moves need. */
export interface TransferParts {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly slots: ResponseSlots;
  readonly conversations: ConversationIndex;
  readonly index: RunIndex;
  readonly ends: RunEnds;
  readonly jobs: RedisJobQueue;
  readonly clock: Clock;
}

/** A record with its slot, and whether that says that it is stored there. */
interface Placed {
  readonly record: MovedRecord;
  readonly slot: string;
  readonly isFound: boolean;
}

/**
 * Moves what is in Redis. What there is, the keys of conversations and responses say, not the indexes. Records are written one by one,
 * each as a whole: an import that was interrupted can be repeated.
 */
export class RedisTransfer extends StateTransfer {
  /** Of the tenants that were listed and are not read yet. */
  private stock = new Map<Tenant, Catalogue>();

  constructor(private readonly parts: TransferParts) {
    super();
  }

  override async tenants(): Promise<readonly Tenant[]> {
    this.stock = new Map(await takeStock(this.parts.redis, this.parts.keys));
    return [...this.stock.keys()].sort();
  }

  override async *read(tenant: Tenant): AsyncGenerator<MovedRecord> {
    const { redis, keys } = this.parts;
    const catalogue = this.stock.get(tenant) ?? (await takeStock(redis, keys, tenant)).get(tenant);
    this.stock.delete(tenant);
    for (const key of catalogue?.conversations ?? []) yield* readConversation(redis, key);
    yield* readChains(redis, catalogue?.roots ?? []);
  }

  /** The jobs of the queues, and those that are stored with their responses and are not there. */
  override async *jobs(): AsyncGenerator<MovedJob> {
    const { redis, keys, index, ends, jobs } = this.parts;
    for (const queue of QUEUES) {
      for await (const { id, data } of jobs.open(queue)) yield { kind: 'job', queue, id, data };
    }
    for (let offset = 0; ; offset += RUNS) {
      const entries = await index.toCheckEver(offset, RUNS);
      const stored = (await ends.statesOf(entries)).flatMap((state) => state?.jobs ?? []);
      const known = await redis.read(
        ...stored.map(({ queue, id }): Command => ['EXISTS', `${keys.jobs}:${queue}:${id}`]),
      );
      for (const [position, { queue, id, data }] of stored.entries()) {
        if (known[position] === 0) yield { kind: 'job', queue, id, data };
      }
      if (entries.length < RUNS) return;
    }
  }

  override async secrets(): Promise<Readonly<Record<string, string>>> {
    const { redis, keys } = this.parts;
    const found: (readonly [name: string, value: string])[] = [];
    for await (const names of redis.scan(keys.anySecret, 'string')) {
      const values = await redis.read(...names.map((key): Command => ['GET', key]));
      found.push(...names.map((key, index) => [key.slice(keys.secret('').length), values[index] as string] as const));
    }
    return Object.fromEntries(found.sort());
  }

  override async write(tenant: Tenant, records: readonly MovedRecord[]): Promise<number> {
    const { redis, keys, index, clock, conversations } = this.parts;
    const now = clock.now();
    const into = new MoveIn(keys, index, tenant, now);
    const placed = await this.locate(tenant, records);
    const replies = await redis.write(...placed.map(({ record, slot }) => into.store(record, slot)));
    for (const [position, { record }] of placed.entries()) {
      if (record.kind === 'response') requireStored(record, replies[position] as StoredRun);
    }
    // Written last: a response that can be found is stored.
    const found = placed.flatMap(({ record, slot, isFound }): readonly Command[] => {
      if (record.kind === 'response') return isFound ? [] : into.find(record, slot);
      if (record.kind === 'conversation') return [];
      const shown = record.entries.filter(({ isGiven }) => !isGiven).map(({ item }) => item);
      return conversations.addCommands(tenant, record.conversationId, shown, now);
    });
    if (found.length > 0) await redis.write(...found);
    return replies.filter((reply) => reply === 1 || reply === 'new').length;
  }

  override async writeJobs(jobs: readonly MovedJob[]): Promise<void> {
    const { redis, keys, slots, clock } = this.parts;
    const identified = identify(jobs);
    for (const job of identified) {
      const { tenant, responseId } = job.data as { readonly tenant?: Tenant; readonly responseId?: unknown };
      if (job.queue !== 'turns' || tenant === undefined || typeof responseId !== 'string') continue;
      const located = await slots.locate(tenant, responseId);
      if (located === undefined) continue;
      await redis.write(keys.call(located, KEEP_JOB, clock.now(), JSON.stringify([job])));
    }
    await this.parts.jobs.add(identified);
  }

  /** Where records lie, or are to lie: what continues a response lies with it. */
  private async locate(tenant: Tenant, records: readonly MovedRecord[]): Promise<readonly Placed[]> {
    const { redis, keys, slots } = this.parts;
    const located = [...(await slots.findAll(tenant, responseKeysOf(records)))];
    const existing = await redis.read(
      ...located.map(([key, slot]): Command => ['EXISTS', keys.slot(tenant, slot).response(key)]),
    );
    // The key that names the slot outlives what was freed.
    const slotBy = new Map(located.filter((_, index) => existing[index] === 1));
    return records.map((record) => {
      if (record.kind !== 'response') return { record, slot: '', isFound: false };
      const key = toKey(record.response.id);
      const known = slotBy.get(key);
      const slot = known ?? slotOf(record, record.parentId === null ? undefined : slotBy.get(toKey(record.parentId)));
      slotBy.set(key, slot);
      if (known === undefined) slots.forget(tenant, [key]);
      return { record, slot, isFound: known !== undefined };
    });
  }
}

function requireStored(moved: MovedResponse, outcome: StoredRun): void {
  if (outcome === 'unlinked') throw withoutParent(moved);
  if (outcome === 'no conversation') throw withoutConversation(moved);
}
