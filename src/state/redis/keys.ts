import { hash } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import { type Argument, type Command, run, type LuaScript } from './script.js';

/** Digests are this long, characters: 132 bits. */
const DIGEST_LENGTH = 22;

/** A response that is stored, or may be. */
export interface Located {
  readonly tenant: Tenant;
  /** The name of the slot that it lies in (`RedisKeys.slot`). */
  readonly slot: string;
  /** As of `toKey`. */
  readonly responseKey: string;
}

/** A response as shared indexes name it. */
export function toMember({ tenant, slot, responseKey }: Located): string {
  return JSON.stringify([tenant, slot, responseKey]);
}

/** Reads what `toMember` has written. */
export function readMember(member: string): Located {
  const [tenant, slot, responseKey] = JSON.parse(member) as [Tenant, string, string];
  return { tenant, slot, responseKey };
}

/** What the field of a session begins with. */
const MEMBERSHIP = 'in:';

/** The field of a response's hash that says that it belongs to a session. */
export function membershipOf(sessionId: string): string {
  return MEMBERSHIP + JSON.stringify(sessionId);
}

/** The field that a response must have to be seen within a session; empty without one. */
export function withinOf(sessionId: string | undefined): string {
  return sessionId === undefined ? '' : membershipOf(sessionId);
}

/** The sessions that the fields of a response's hash name. */
export function sessionsOf(fields: readonly string[]): readonly string[] {
  return fields.filter((field) => field.startsWith(MEMBERSHIP)).map(sessionOf);
}

/** The session that such a field names. */
export function sessionOf(membership: string): string {
  return JSON.parse(membership.slice(MEMBERSHIP.length)) as string;
}

/**
 * The names of all keys. What belongs together has the same hash tag `{…}`, and so lies in one slot of a cluster, where
 * one script can change it:
 *
 * - A **chain** lies in the slot of the lock under which it began: that of the session of its first response, or of its
 *   conversation. Everything that continues it lies there too, whatever its session.
 * - The **members** of a session lie in the slot of the session.
 * - What a tenant has is listed by **indexes** in slots of their own. They may name what is gone: readers skip it.
 */
export class RedisKeys {
  constructor(private readonly prefix: string) {}

  /** The keys of the slot that a lock names: a session, or as `conversationLock` makes it. */
  slot(tenant: Tenant, slot: string): SlotKeys {
    return new SlotKeys(`${this.prefix}:{${digest(tenant, slot)}}`);
  }

  /** Hash: a response without its texts, as of `SlotKeys.response`. */
  response({ tenant, slot, responseKey }: Located): string {
    return this.slot(tenant, slot).response(responseKey);
  }

  /** A call of a script about a response: its arguments are the time, the response, and the rest. */
  call({ tenant, slot, responseKey }: Located, script: LuaScript, now: number, ...args: readonly Argument[]): Command {
    return run(script, [this.slot(tenant, slot).base], now, responseKey, ...args);
  }

  /** String: the name of the slot that a response lies in, as JSON. */
  slotOf(tenant: Tenant, responseKey: string): string {
    return `${this.prefix}:at:${digest(tenant, responseKey)}`;
  }

  /** Sorted set: the ids of a tenant's responses, as of `toKey`, by `created_at`. */
  responsesOf(tenant: Tenant): string {
    return `${this.prefix}:responses:${digest(tenant)}`;
  }

  /** Sorted set, ordered by name: the responses that show an item (`HeldItems`). */
  holders(tenant: Tenant, itemId: string): string {
    return this.holdersOf(itemName(tenant, itemId));
  }

  /** Sorted set, ordered by name: the responses that show an item, by its `itemName`. */
  holdersOf(name: string): string {
    return `${this.prefix}:item:${name}`;
  }

  /** Sorted set: the ids of conversations that may have an item, as JSON, by the time when it came, ms. Does not expire. */
  conversationsWith(tenant: Tenant, itemId: string): string {
    return `${this.prefix}:conversations-with:${digest(tenant, itemId)}`;
  }

  /** Sorted set: responses by the time when they expire, ms; what the purge looks at. Several, so that no slot has them all. */
  expiring(shard: number): string {
    return `${this.prefix}:expiring:${shard}`;
  }

  /** Sorted set: the background responses that are queued, of all tenants, by the time of their creation. */
  get queued(): string {
    return `${this.prefix}:{queue}:queued`;
  }

  /** Sorted set: those of one tenant; in the same slot. */
  queuedOf(tenant: Tenant): string {
    return `${this.prefix}:{queue}:queued:${digest(tenant)}`;
  }

  /** Sorted set: responses whose jobs are stored with them and may not have been enqueued, by time, ms. */
  get outbox(): string {
    return `${this.prefix}:{queue}:outbox`;
  }

  /** Sorted set: the background responses that have ended, by the time when their logs are forgotten, ms. */
  get logs(): string {
    return `${this.prefix}:logs`;
  }

  /** String: says that a process looks after what others have left. */
  get sweep(): string {
    return `${this.prefix}:{queue}:sweep`;
  }

  /** The prefix of BullMQ's keys. */
  get jobs(): string {
    return `${this.prefix}:{jobs}`;
  }

  /** A pattern that the hashes of all responses fit, and no other hashes. */
  get anyResponse(): string {
    return `${literal(this.prefix)}:{${'?'.repeat(DIGEST_LENGTH)}}:r:*`;
  }

  /** A pattern that the hashes of all conversations fit. */
  get anyConversation(): string {
    return `${literal(this.prefix)}:{${'?'.repeat(DIGEST_LENGTH)}}:conversation`;
  }

  /** A pattern that the keys of all secrets fit. */
  get anySecret(): string {
    return `${literal(this.prefix)}:secret:*`;
  }

  /** Hash: requests and tokens of a window and the places of each replica, by rule and tenant. */
  limit(counter: string): string {
    return `${this.prefix}:limits:${digest(counter)}`;
  }

  secret(name: string): string {
    return `${this.prefix}:secret:${name}`;
  }

  /** String that expires: who has claimed a name, and until when. Each in a slot of its own. */
  claim(tenant: Tenant, name: string): string {
    return `${this.prefix}:claim:${digest(tenant, name)}`;
  }

  /** Hash: what a tenant has used on a day since the epoch, in a slot of its own. */
  usage(tenant: Tenant, day: number): string {
    return `${this.prefix}:{usage:${digest(tenant)}:${day}}`;
  }

  /** Set: the names of the tenants that may have used something on a day, as JSON. */
  tenantsWithUsage(day: number): string {
    return `${this.prefix}:tenants-with-usage:${day}`;
  }

  /** Channels of publications. */
  channel(name: 'deleted' | 'logged' | 'ended' | 'enqueued' | 'check'): string {
    return `${this.prefix}:${name}`;
  }
}

/** The keys of one slot. */
export class SlotKeys {
  constructor(readonly base: string) {}

  /** Sorted set: the ids of the responses of the session, as of `toKey`, by `created_at`. */
  get members(): string {
    return `${this.base}:members`;
  }

  /** Hash: the conversation without its items. */
  get conversation(): string {
    return `${this.base}:conversation`;
  }

  /** Stream: the items of the conversation, by position. */
  get items(): string {
    return `${this.base}:items`;
  }

  /** Hash: the positions of the conversation's items by their id. */
  get itemIds(): string {
    return `${this.base}:item-ids`;
  }

  /** Hash: a response without its texts. Scripts append `:body`, `:input`, `:output` … to it for the rest. */
  response(responseKey: string): string {
    return `${this.base}:r:${responseKey}`;
  }

  /** Sorted set: the ids of the responses that continue one, as of `toKey`, by `created_at`. */
  children(responseKey: string): string {
    return `${this.response(responseKey)}:children`;
  }
}

/** How long each `itemName` is, characters. */
export const ITEM_NAME_LENGTH = DIGEST_LENGTH;

/** An item of a tenant as keys and responses name it. */
export function itemName(tenant: Tenant, itemId: string): string {
  return digest(tenant, itemId);
}

/** A text in a pattern of Redis that stands for itself. */
function literal(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

function digest(...parts: readonly string[]): string {
  // Unambiguous, also for texts with lone surrogates.
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, DIGEST_LENGTH);
}
