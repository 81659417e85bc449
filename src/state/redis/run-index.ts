import type { Tenant } from '../../access/index.js';
import type { QueueBounds } from '../background-runs.js';
import { QueueFullError } from '../errors.js';
import { type Located, readMember, type RedisKeys, toMember } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, run } from './script.js';
import { ADMIT, type Admitted, ENTER, GRACE_MS, LONGEST_MS } from './scripts/indexes.js';

/** How long after its creation it is asked first whether a response has a job, ms: a creation may be between its steps. */
const FIRST_CHECK_MS = 5000;

/** The indexes of background responses: those that are queued, those to look after, and the logs to forget. */
export class RunIndex {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
  ) {}

  /** Enters a response that is about to be stored. Throws QueueFullError and StoreUnavailableError. */
  async admit(entry: Located, createdAt: number, now: number, bounds: QueueBounds): Promise<void> {
    const [admitted] = await this.redis.write(this.admitting(entry, createdAt, now, bounds));
    if ((admitted as Admitted) !== 'admitted') throw new QueueFullError(admitted as Exclude<Admitted, 'admitted'>);
  }

  /** The command that enters a response, unless a bound is reached. */
  admitting(entry: Located, createdAt: number, now: number, { total, perTenant }: QueueBounds): Command {
    const keys = [this.keys.queued, this.keys.queuedOf(entry.tenant), this.keys.outbox];
    const values = [toMember(entry), createdAt * 1000, now + FIRST_CHECK_MS, total, perTenant, LONGEST_MS];
    return run(ADMIT, keys, ...values);
  }

  /** The commands after which a response counts as queued no more. */
  begun(entry: Located): readonly Command[] {
    const member = toMember(entry);
    return [
      ['ZREM', this.keys.queued, member],
      ['ZREM', this.keys.queuedOf(entry.tenant), member],
    ];
  }

  /** The commands after which nobody looks after a response any more. */
  left({ tenant, slot, responseKey }: Located): readonly Command[] {
    return leaveCommands(this.keys, tenant, slot, [responseKey]);
  }

  /** The command that has a response looked after again at a time, ms since the epoch. */
  postponed(entry: Located, until: number): Command {
    return ['ZADD', this.keys.outbox, 'XX', until, toMember(entry)];
  }

  /** The command that has the log of a response forgotten at a time, ms since the epoch. */
  forgetting(entry: Located, at: number, now: number): Command {
    return run(ENTER, [this.keys.logs], Math.max(0, at - now) + GRACE_MS, at, toMember(entry));
  }

  /** The command after which a log counts as forgotten. */
  forgotten(entry: Located): Command {
    return ['ZREM', this.keys.logs, toMember(entry)];
  }

  /** The responses that were created before a time and are queued, or were, oldest first: those from `offset` on. */
  queuedBefore(createdBefore: number, offset: number, limit: number): Promise<readonly Located[]> {
    return this.range(this.keys.queued, `(${createdBefore}`, offset, limit);
  }

  /** When a response was created that is queued, ms since the epoch. */
  async createdAt(entry: Located): Promise<number | undefined> {
    const [score] = await this.redis.read(['ZSCORE', this.keys.queued, toMember(entry)]);
    return typeof score === 'string' || typeof score === 'number' ? Number(score) : undefined;
  }

  /** Some of the responses to look after now. */
  toCheck(now: number, limit: number): Promise<readonly Located[]> {
    return this.range(this.keys.outbox, String(now), 0, limit);
  }

  /** All responses to look after, now or later: those from `offset` on. */
  toCheckEver(offset: number, limit: number): Promise<readonly Located[]> {
    return this.range(this.keys.outbox, '+inf', offset, limit);
  }

  /** Some of the responses whose logs are to be forgotten. */
  toForget(now: number, limit: number): Promise<readonly Located[]> {
    return this.range(this.keys.logs, String(now), 0, limit);
  }

  private async range(key: string, upTo: string, offset: number, limit: number): Promise<readonly Located[]> {
    const [members] = await this.redis.read(['ZRANGEBYSCORE', key, '-inf', upTo, 'LIMIT', offset, limit]);
    return (members as readonly string[]).map(readMember);
  }
}

/** The commands after which responses of a slot, if they were in the background, are neither queued nor looked after. */
export function leaveCommands(
  keys: RedisKeys,
  tenant: Tenant,
  slot: string,
  responseKeys: readonly string[],
): readonly Command[] {
  const members = responseKeys.map((responseKey) => toMember({ tenant, slot, responseKey }));
  return [keys.queued, keys.queuedOf(tenant), keys.outbox].map((key): Command => ['ZREM', key, ...members]);
}
