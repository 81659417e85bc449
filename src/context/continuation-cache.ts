import type { Item } from '../protocol/index.js';
import { estimateBytes } from '../state/index.js';
import type { Continuation, Continuations } from './continuation.js';

/** What a cache tells the process about its size. */
export interface CacheBudget {
  /** Bytes one cache may hold, estimated. */
  readonly maxBytes: number;
  /** Called whenever the estimate changed, with the change in bytes. */
  readonly onChange: (bytes: number) => void;
}

/**
 * The latest response of each lane of one connection (protocol §6.6), in memory only, so that it works with `store: false`.
 * Lanes that forked share their items. Bounded in bytes: what was added is summed up as it comes, and only when that is
 * too much are the distinct items counted, and the lanes forgotten that were used longest ago.
 */
export class ContinuationCache {
  /** By lane, least recently used first. */
  private readonly latest = new Map<string, Continuation>();
  /** What this cache gave out or took in: their items are in the estimate already. */
  private readonly counted = new WeakSet<Continuation>();
  private estimate = 0;

  constructor(private readonly budget: CacheBudget) {}

  /** The memory as the turns of one lane see it. */
  lane(name: string): Continuations {
    return {
      find: (responseId) => this.find(responseId),
      remember: (continuation, parent) => this.remember(name, continuation, parent),
    };
  }

  /** Takes a response out of the cache, but only where it is the given lane's own: a fork's failure harms nobody else. */
  evict(lane: string, responseId: string): void {
    if (this.latest.get(lane)?.responseId === responseId) this.latest.delete(lane);
  }

  /** Takes a response out of the cache wherever it is: it was deleted. */
  forget(responseId: string): void {
    for (const lane of this.latest.keys()) this.evict(lane, responseId);
  }

  /** Forgets everything. */
  clear(): void {
    this.latest.clear();
    this.setEstimate(0);
  }

  /** Counts what is really there, and forgets old lanes until it is no more than `maxBytes`. */
  shrinkTo(maxBytes: number): void {
    this.setEstimate(this.countBytes());
    for (const lane of this.latest.keys()) {
      if (this.estimate <= maxBytes) return;
      this.latest.delete(lane);
      this.setEstimate(this.countBytes());
    }
  }

  /** Estimated bytes, never too few. */
  get bytes(): number {
    return this.estimate;
  }

  private find(responseId: string): Continuation | undefined {
    for (const [lane, continuation] of this.latest) {
      if (continuation.responseId !== responseId) continue;
      this.use(lane, continuation);
      return continuation;
    }
    return undefined;
  }

  private remember(lane: string, continuation: Continuation, parent: Continuation | null): void {
    const { conversation } = continuation;
    const isKnown = parent !== null && this.counted.has(parent);
    const added = isKnown ? conversation.itemsAfter(parent.conversation) : conversation.items;
    this.counted.add(continuation);
    this.use(lane, continuation);
    this.setEstimate(this.estimate + estimateBytes(added));
    if (this.estimate > this.budget.maxBytes) this.shrinkTo(this.budget.maxBytes);
  }

  private use(lane: string, continuation: Continuation): void {
    this.latest.delete(lane);
    this.latest.set(lane, continuation);
  }

  private countBytes(): number {
    const items = new Set<Item>();
    for (const { conversation } of this.latest.values()) for (const item of conversation.items) items.add(item);
    return estimateBytes([...items]);
  }

  private setEstimate(bytes: number): void {
    const change = bytes - this.estimate;
    this.estimate = bytes;
    if (change !== 0) this.budget.onChange(change);
  }
}
