import { estimateBytes, type Item } from '../protocol/index.js';
import type { Continuation, Continuations } from './continuation.js';
import { hasOwnSeal } from './marks.js';

/** The limits of a cache. */
export interface CacheLimits {
  /** Most bytes, estimated. */
  readonly maxBytes: number;
  /** Called after the cache has grown or shrunk, with the change in bytes. */
  readonly onChange: (bytes: number) => void;
  /** Called after each look-up of a response. */
  readonly onLookup?: (isHit: boolean) => void;
  /** Whether stored responses may be cached now: only while deletion notices arrive. */
  readonly remembersStored: () => boolean;
}

/**
 * The cache of one connection, in memory only, so that it works with `store: false` (protocol §6.6): the latest
 * response of each lane, and for `response.append` the messages of each lane's last request. Forked lanes share their
 * items, and a turn costs only its new items. Beyond the limit, requests are dropped first, then the least recently
 * used lanes.
 */
export class ContinuationCache {
  /** By lane, least recently used first. */
  private readonly latest = new Map<string, Continuation>();
  /** Stored responses whose save has begun and that have not been deleted since. */
  private readonly saving = new Set<string>();
  private readonly items = new HeldItems();
  private readonly requests = new Map<string, readonly Buffer[]>();
  private requestBytes = 0;
  private reported = 0;
  private closed = false;

  constructor(private readonly limits: CacheLimits) {}

  /** The cache for the turns of one lane. */
  lane(name: string): Continuations {
    return {
      find: (responseId) => this.look(name, (known) => known.responseId === responseId),
      findConversation: (id) => this.look(name, ({ conversation }) => conversation?.id === id),
      beginSave: (responseId) => {
        if (this.limits.remembersStored()) this.saving.add(responseId);
      },
      cancelSave: (responseId) => void this.saving.delete(responseId),
      remember: (continuation, parent) => this.remember(name, continuation, parent),
    };
  }

  /** The messages that made up a lane's last request. */
  requestOf(lane: string): readonly Buffer[] | undefined {
    return this.requests.get(lane);
  }

  /** Replaces the messages of a lane's latest request. */
  rememberRequest(lane: string, messages: readonly Buffer[]): void {
    if (this.closed) return;
    this.dropRequest(lane);
    this.requests.set(lane, messages);
    this.requestBytes += byteLength(messages);
    this.settle();
  }

  /** Drops a response, but only from the given lane: forks of it are not affected. */
  evict(lane: string, responseId: string): void {
    if (this.latest.get(lane)?.responseId === responseId) this.drop(lane);
    this.settle();
  }

  /** Drops deleted responses from all lanes. */
  forget(gone: ReadonlySet<string>): void {
    for (const responseId of this.saving) if (gone.has(responseId)) this.saving.delete(responseId);
    for (const [lane, known] of [...this.latest]) {
      if (isWatched(known) && gone.has(known.responseId)) this.drop(lane);
    }
    this.settle();
  }

  /** Drops all stored responses. */
  forgetStored(): void {
    this.saving.clear();
    for (const [lane, known] of [...this.latest]) if (isWatched(known)) this.drop(lane);
    this.settle();
  }

  /** Drops everything for good: a turn that ends after its connection adds nothing. */
  close(): void {
    this.closed = true;
    this.shrinkTo(-1);
  }

  /** Drops requests, then lanes, until at most `maxBytes` are left. */
  shrinkTo(maxBytes: number): void {
    for (const lane of [...this.requests.keys()]) if (this.bytes > maxBytes) this.dropRequest(lane);
    for (const lane of [...this.latest.keys()]) if (this.bytes > maxBytes) this.drop(lane);
    this.report();
  }

  /** Bytes held, estimated. */
  get bytes(): number {
    return this.items.bytes + this.requestBytes;
  }

  private look(name: string, isWanted: (known: Continuation) => boolean): Continuation | undefined {
    const found = this.find(name, isWanted);
    this.limits.onLookup?.(found !== undefined);
    return found;
  }

  /** Looks among the responses used last first: an earlier one of the same conversation is outdated. */
  private find(name: string, isWanted: (known: Continuation) => boolean): Continuation | undefined {
    for (const [lane, continuation] of [...this.latest].reverse()) {
      if (!isWanted(continuation)) continue;
      this.latest.delete(lane);
      this.latest.set(lane, continuation);
      if (lane === name) return continuation;
      // A fork, so that lanes do not retain each other's items once one of them is dropped.
      return { ...continuation, transcript: continuation.transcript.fork() };
    }
    return undefined;
  }

  private remember(lane: string, continuation: Continuation, parent: Continuation | null): void {
    if (this.closed) return;
    const { transcript, responseId } = continuation;
    const isAlive = this.saving.delete(responseId);
    if (isWatched(continuation) && !isAlive) {
      this.drop(lane);
      this.settle();
      return;
    }
    if (parent !== null && this.latest.get(lane) === parent) {
      this.items.hold(transcript.itemsAfter(parent.transcript));
      this.latest.delete(lane);
    } else {
      this.items.hold(transcript.items);
      this.drop(lane);
    }
    this.latest.set(lane, continuation);
    this.settle();
  }

  private drop(lane: string): void {
    const continuation = this.latest.get(lane);
    if (continuation === undefined) return;
    this.latest.delete(lane);
    this.items.release(continuation.transcript.items);
  }

  private dropRequest(lane: string): void {
    this.requestBytes -= byteLength(this.requests.get(lane) ?? []);
    this.requests.delete(lane);
  }

  private settle(): void {
    if (this.bytes > this.limits.maxBytes) this.shrinkTo(this.limits.maxBytes);
    else this.report();
  }

  private report(): void {
    const change = this.bytes - this.reported;
    this.reported = this.bytes;
    if (change !== 0) this.limits.onChange(change);
  }
}

/** Whether a deletion elsewhere makes it useless. What is known of a conversation is compared with its version instead. */
function isWatched({ expiresAt, conversation }: Continuation): boolean {
  return expiresAt !== null && conversation === null;
}

function byteLength(messages: readonly Buffer[]): number {
  return messages.reduce((bytes, message) => bytes + message.length, 0);
}

interface Held {
  readonly bytes: number;
  holders: number;
}

/** Reference counts of items that several transcripts may share; the size of each counts once. */
class HeldItems {
  private readonly items = new Map<Item, Held>();
  private total = 0;

  /** Estimated bytes of all held items. */
  get bytes(): number {
    return this.total;
  }

  hold(items: readonly Item[]): void {
    for (const item of items) {
      const held = this.items.get(item);
      if (held !== undefined) {
        held.holders += 1;
        continue;
      }
      const bytes = heldBytesOf(item);
      this.items.set(item, { bytes, holders: 1 });
      this.total += bytes;
    }
  }

  release(items: readonly Item[]): void {
    for (const item of items) {
      const held = this.items.get(item);
      if (held === undefined || (held.holders -= 1) > 0) continue;
      this.items.delete(item);
      this.total -= held.bytes;
    }
  }
}

/** The bytes that a cached item takes, estimated: with what stands in it if it is sealed, which is kept with it once it was opened. */
export function heldBytesOf(item: Item): number {
  return estimateBytes(item) + (hasOwnSeal(item) ? estimateBytes(item.encrypted_content) : 0);
}
