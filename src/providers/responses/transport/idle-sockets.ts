import type { PoolPlace } from './pool-place.js';

/** Sockets that wait for another request of their conversation. */
export class IdleSockets {
  /** Those after their first turn. The longest idle one comes first. */
  private readonly usedOnce = new Set<PoolPlace>();
  /** Those after a further turn, in the same order. */
  private readonly reused = new Set<PoolPlace>();
  /** All that were idle before. */
  private readonly known = new WeakSet<PoolPlace>();
  private readonly byConversation = new Map<string, PoolPlace[]>();

  get size(): number {
    return this.usedOnce.size + this.reused.size;
  }

  /** The one to close first: the longest idle one of those that served one turn, for its conversation may have no other; else of all. */
  get leastUseful(): PoolPlace | undefined {
    const [place] = this;
    return place;
  }

  /** Those of a conversation; the last that became idle comes last. */
  of(conversation: string): readonly PoolPlace[] {
    return this.byConversation.get(conversation) ?? [];
  }

  add(place: PoolPlace): void {
    (this.known.has(place) ? this.reused : this.usedOnce).add(place);
    this.known.add(place);
    const siblings = this.byConversation.get(place.conversation);
    if (siblings === undefined) this.byConversation.set(place.conversation, [place]);
    else siblings.push(place);
  }

  remove(place: PoolPlace): void {
    if (!this.usedOnce.delete(place) && !this.reused.delete(place)) return;
    const left = this.of(place.conversation).filter((other) => other !== place);
    if (left.length > 0) this.byConversation.set(place.conversation, left);
    else this.byConversation.delete(place.conversation);
  }

  *[Symbol.iterator](): Iterator<PoolPlace> {
    yield* this.usedOnce;
    yield* this.reused;
  }
}
