import { Logger } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { inOneLine } from '../errors.js';
import { CERTAIN_MS } from './dangling-entries.js';
import { expiryCommand, SHARDS, unexpiringCommand } from './indexes.js';
import { leaveItems } from './item-index.js';
import { readMember, type RedisKeys, sessionOf } from './keys.js';
import type { ResponseSlots } from './response-slots.js';
import type { RedisNotices } from './notices.js';
import type { Redis } from './redis.js';
import { leaveCommands } from './run-index.js';
import { type Command, run } from './script.js';
import { type Freed, type GoneReply, SWEEP, type SweepReply } from './scripts/delete.js';
import { GRACE_MS } from './scripts/indexes.js';

/** Most responses per script. */
const BATCH = 1000;
/** Most commands that are sent together. */
const COMMANDS = 1000;
/** Most responses of an index that one sweep looks at. */
const SWEPT = 64;

/** A part of an index with the scores: when each response expires, ms. */
type Entries = readonly (readonly [entry: string, expiresAt: number])[];

/** Some responses of one slot. */
interface Swept {
  readonly tenant: Tenant;
  readonly slot: string;
  /** When each is to expire, ms, by `toKey` of the response. */
  readonly times: Map<string, number>;
}

/** Frees invisible responses as soon as no response continues them, and takes them out of the indexes. */
export class RedisTombstones {
  private readonly outages = new OutageLog(new Logger('Tombstones'));

  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly responseSlots: ResponseSlots,
    private readonly notices: RedisNotices,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports responses of a slot that were deleted, and others that have `changed`, and frees the former. Resolves when up to one batch is freed; larger
   * deletions continue in the background. What cannot be freed now is freed when it would have expired. Never rejects.
   */
  async bury(tenant: Tenant, slot: string, gone: GoneReply, changed: readonly string[] = []): Promise<void> {
    const reported = new Set([...idsOf(gone), ...changed]);
    const burying = Promise.all([this.notices.deleted([...reported]), this.free(tenant, slot, gone)]);
    const freeing = burying.catch((error: unknown) => {
      this.outages.warn('deleted responses will be freed later', inOneLine(error));
    });
    if (gone.length <= BATCH) await freeing;
  }

  /**
   * Hides and reports the next expired responses, and frees them as far as nothing continues them; false when there are
   * no more. The others are freed with the last response that continues them.
   */
  async sweep(): Promise<boolean> {
    const now = this.clock.now();
    const shards = Array.from({ length: SHARDS }, (_, shard) => this.keys.expiring(shard));
    const limits = ['BYSCORE', 'LIMIT', 0, SWEPT, 'WITHSCORES'] as const;
    const replies = await this.redis.read(...shards.map((shard): Command => ['ZRANGE', shard, '-inf', now, ...limits]));
    const slots = groupBySlot(replies as readonly Entries[]);
    if (slots.length === 0) return false;
    const swept = await this.redis.write(
      ...slots.map(({ tenant, slot, times }) => run(SWEEP, [this.keys.slot(tenant, slot).base], now, ...times.keys())),
    );
    const done = slots.map((one, index) => this.settle(one, swept[index] as SweepReply, now));
    const commands = done.flat();
    const gone = swept.flatMap((reply) => idsOf((reply as SweepReply)[0]));
    await Promise.all([this.writeAll(commands), this.notices.deleted(gone)]);
    const isFull = replies.some((reply) => (reply as Entries).length === SWEPT);
    return isFull && commands.length > 0;
  }

  private async free(tenant: Tenant, slot: string, gone: GoneReply): Promise<void> {
    const { base } = this.keys.slot(tenant, slot);
    // The last ones first: they continue the others.
    for (let end = gone.length; end > 0; end -= BATCH) {
      const batch = gone.slice(Math.max(0, end - BATCH), end);
      const ids = idsOf(batch);
      // Deleted responses leave the queue.
      await this.redis.write(...leaveCommands(this.keys, tenant, slot, ids));
      const [swept] = await this.redis.write(
        run(SWEEP, [base], this.clock.now(), ...ids),
        ...this.unlist(tenant, slot, batch),
      );
      const [, freed] = swept as SweepReply;
      await this.writeAll(this.remove(tenant, slot, freed));
    }
  }

  /** Forgets where freed responses were; the commands that take them out of the indexes. */
  private remove(tenant: Tenant, slot: string, freed: readonly Freed[]): readonly Command[] {
    this.responseSlots.forget(
      tenant,
      freed.map(([id]) => id),
    );
    // Slots are kept as long as bookmarks tell where the responses were.
    return freed.flatMap(([responseKey, held]): readonly Command[] => [
      unexpiringCommand(this.keys, { tenant, slot, responseKey }),
      ['PEXPIRE', this.keys.slotOf(tenant, responseKey), BOOKMARK_MS + GRACE_MS],
      ...leaveItems(this.keys, responseKey, held),
    ]);
  }

  /** Not all at once: a response may have many items. */
  private async writeAll(commands: readonly Command[]): Promise<void> {
    for (let start = 0; start < commands.length; start += COMMANDS) {
      await this.redis.write(...commands.slice(start, start + COMMANDS));
    }
  }

  /** What follows from the sweep of a slot. */
  private settle(
    { tenant, slot, times }: Swept,
    [gone, freed, later, missing]: SweepReply,
    now: number,
  ): readonly Command[] {
    const kept = new Set(later.map(([id]) => id));
    for (const id of missing) if ((times.get(id) ?? 0) > now - CERTAIN_MS) kept.add(id);
    const rest = [...times.keys()].filter((id) => !kept.has(id));
    return [
      ...(gone.length === 0 ? [] : this.unlist(tenant, slot, gone)),
      ...this.remove(tenant, slot, freed),
      ...rest.map((responseKey) => unexpiringCommand(this.keys, { tenant, slot, responseKey })),
      ...later.map(([responseKey, expiresAt]) => {
        const ttl = Math.max(0, Number(expiresAt) - now) + GRACE_MS;
        return expiryCommand(this.keys, { tenant, slot, responseKey }, Number(expiresAt), ttl);
      }),
    ];
  }

  /** Takes what is gone out of the lists. */
  private unlist(tenant: Tenant, slot: string, gone: GoneReply): readonly Command[] {
    const elsewhere = gone.flatMap(([id, ...memberships]) =>
      memberships
        .map(sessionOf)
        .filter((session) => session !== slot)
        .map((session): Command => ['ZREM', this.keys.slot(tenant, session).members, id]),
    );
    return [['ZREM', this.keys.responsesOf(tenant), ...idsOf(gone)], ...elsewhere];
  }
}

function idsOf(gone: GoneReply): readonly string[] {
  return gone.map(([id]) => id);
}

function groupBySlot(replies: readonly Entries[]): readonly Swept[] {
  const slots = new Map<string, Swept>();
  for (const [entry, expiresAt] of replies.flat()) {
    const { tenant, slot, responseKey } = readMember(entry);
    const name = JSON.stringify([tenant, slot]);
    const one = slots.get(name) ?? { tenant, slot, times: new Map<string, number>() };
    one.times.set(responseKey, expiresAt);
    slots.set(name, one);
  }
  return [...slots.values()];
}
