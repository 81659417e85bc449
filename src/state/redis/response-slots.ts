import type { Tenant } from '../../access/index.js';
import { RecentMap } from '../../recent-map.js';
import { type Clock, isPromise, type MaybePromise } from '../../time/index.js';
import { toKey } from '../keys.js';
import type { Located, RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import type { Argument, Command, LuaScript } from './script.js';

/** Most slots that are remembered: some hundred bytes each. */
const CAPACITY = 20_000;

/** Which slot each response lies in. That never changes, so what was found once is remembered. */
export class ResponseSlots {
  /** By the key that says it. */
  private readonly known = new RecentMap<string>(CAPACITY);

  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly clock: Clock,
  ) {}

  /** The slot that a response lies in, if it is or was stored; one read when it is not remembered. Throws StoreUnavailableError. */
  find(tenant: Tenant, responseId: string): MaybePromise<string | undefined> {
    const key = this.keys.slotOf(tenant, toKey(responseId));
    return this.known.use(key) ?? this.read(key);
  }

  /** Where a response lies, if it is or was stored. Throws StoreUnavailableError. */
  async locate(tenant: Tenant, responseId: string): Promise<Located | undefined> {
    const found = this.find(tenant, responseId);
    const slot = isPromise(found) ? await found : found;
    return slot === undefined ? undefined : { tenant, slot, responseKey: toKey(responseId) };
  }

  /** The reply of a script about a response (`RedisKeys.call`); undefined when it was never stored. Throws StoreUnavailableError. */
  async ask(tenant: Tenant, responseId: string, script: LuaScript, ...args: readonly Argument[]): Promise<unknown> {
    const located = await this.locate(tenant, responseId);
    if (located === undefined) return undefined;
    const [reply] = await this.redis.read(this.keys.call(located, script, this.clock.now(), ...args));
    return reply;
  }

  /** The slots of many responses, by `toKey` of each, in one read. Those that are not stored are omitted. */
  async findAll(tenant: Tenant, responseKeys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const unknown: { readonly responseKey: string; readonly key: string }[] = [];
    for (const responseKey of responseKeys) {
      const key = this.keys.slotOf(tenant, responseKey);
      const slot = this.known.get(key);
      if (slot === undefined) unknown.push({ responseKey, key });
      else found.set(responseKey, slot);
    }
    if (unknown.length === 0) return found;
    const replies = await this.redis.read(...unknown.map(({ key }): Command => ['GET', key]));
    for (const [index, { responseKey, key }] of unknown.entries()) {
      const slot = this.learn(key, replies[index]);
      if (slot !== undefined) found.set(responseKey, slot);
    }
    return found;
  }

  /** Remembers where a response lies that this process stores. */
  know(tenant: Tenant, responseId: string, slot: string): void {
    this.known.set(this.keys.slotOf(tenant, toKey(responseId)), slot);
  }

  /** Forgets where responses were that are freed, by `toKey` of each. */
  forget(tenant: Tenant, responseKeys: readonly string[]): void {
    for (const responseKey of responseKeys) this.known.delete(this.keys.slotOf(tenant, responseKey));
  }

  private async read(key: string): Promise<string | undefined> {
    const [reply] = await this.redis.read(['GET', key]);
    return this.learn(key, reply);
  }

  private learn(key: string, reply: unknown): string | undefined {
    if (typeof reply !== 'string') return undefined;
    const slot = JSON.parse(reply) as string;
    this.known.set(key, slot);
    return slot;
  }
}
