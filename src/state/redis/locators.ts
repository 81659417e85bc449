import type { Tenant } from '../../access/index.js';
import { type Clock, isPromise, type MaybePromise } from '../../time/index.js';
import { toKey } from '../keys.js';
import type { Located, RedisKeys } from './keys.js';
import { Recent } from './known-versions.js';
import type { Redis } from './redis.js';
import type { Argument, Command, Script } from './script.js';

/** Most locks that are remembered: some hundred bytes each. */
const CAPACITY = 20_000;

/** Where responses lie: the lock whose place each is in. That never changes, so what was found once is remembered. */
export class Locators {
  /** The locks by locator. */
  private readonly known: Recent<string>;

  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly clock: Clock,
    capacity = CAPACITY,
  ) {
    this.known = new Recent(capacity);
  }

  /** The lock whose place a response lies in, if it is or was stored; one read when it is not remembered. Throws StoreUnavailableError. */
  find(tenant: Tenant, responseId: string): MaybePromise<string | undefined> {
    const locator = this.keys.locator(tenant, toKey(responseId));
    return this.known.get(locator) ?? this.read(locator);
  }

  /** Where a response lies, if it is or was stored. Throws StoreUnavailableError. */
  async locate(tenant: Tenant, responseId: string): Promise<Located | undefined> {
    const found = this.find(tenant, responseId);
    const lock = isPromise(found) ? await found : found;
    return lock === undefined ? undefined : { tenant, lock, responseKey: toKey(responseId) };
  }

  /** The reply of a script about a response (`RedisKeys.call`); undefined when it was never stored. Throws StoreUnavailableError. */
  async ask(tenant: Tenant, responseId: string, script: Script, ...args: readonly Argument[]): Promise<unknown> {
    const located = await this.locate(tenant, responseId);
    if (located === undefined) return undefined;
    const [reply] = await this.redis.read(this.keys.call(located, script, this.clock.now(), ...args));
    return reply;
  }

  /** The same of many responses by `toKey` of each, in one read. Those that are not stored are omitted. */
  async findAll(tenant: Tenant, responseKeys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const unknown: { readonly responseKey: string; readonly locator: string }[] = [];
    for (const responseKey of responseKeys) {
      const locator = this.keys.locator(tenant, responseKey);
      const lock = this.known.get(locator);
      if (lock === undefined) unknown.push({ responseKey, locator });
      else found.set(responseKey, lock);
    }
    if (unknown.length === 0) return found;
    const replies = await this.redis.read(...unknown.map(({ locator }): Command => ['GET', locator]));
    for (const [index, { responseKey, locator }] of unknown.entries()) {
      const lock = this.learn(locator, replies[index]);
      if (lock !== undefined) found.set(responseKey, lock);
    }
    return found;
  }

  /** Remembers where a response lies that this process stores. */
  know(tenant: Tenant, responseId: string, lock: string): void {
    this.known.set(this.keys.locator(tenant, toKey(responseId)), lock);
  }

  /** Forgets where responses were that are freed, by `toKey` of each. */
  forget(tenant: Tenant, responseKeys: readonly string[]): void {
    for (const responseKey of responseKeys) this.known.delete(this.keys.locator(tenant, responseKey));
  }

  private async read(locator: string): Promise<string | undefined> {
    const [reply] = await this.redis.read(['GET', locator]);
    return this.learn(locator, reply);
  }

  private learn(locator: string, reply: unknown): string | undefined {
    if (typeof reply !== 'string') return undefined;
    const lock = JSON.parse(reply) as string;
    this.known.set(locator, lock);
    return lock;
  }
}
