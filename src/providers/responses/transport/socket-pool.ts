import { UpstreamError } from '../upstream-error.js';
import type { SocketPoolOptions, WantedSocket } from './pool-options.js';
import { PoolPlace } from './pool-place.js';
import type { UpstreamSocket } from './upstream-socket.js';

/** Time to close all sockets, ms. */
const CLOSE_MS = 1000;

/** The WebSockets to one upstream. */
export class SocketPool {
  private readonly idle = new IdleSockets();
  /** Sockets that are used or being opened. */
  private readonly busy = new Set<PoolPlace>();
  /** Sockets under way to their end. */
  private readonly closing = new Set<Promise<void>>();
  private isRetired = false;
  private isDestroyed = false;

  constructor(private readonly options: SocketPoolOptions) {}

  /** Sockets that are open or being opened. */
  get size(): number {
    return this.idle.size + this.busy.size;
  }

  /**
   * A socket for one turn, which gives it back with `release` or `drop`. Null if as many as allowed are in use: no turn waits for
   * another one. Throws AnswerRefusedError if the server refuses the handshake, UpstreamError if it cannot be reached, and the reason
   * of the signal.
   */
  async take(wanted: WantedSocket): Promise<UpstreamSocket | null> {
    wanted.signal.throwIfAborted();
    if (this.isDestroyed) throw new UpstreamError('the provider is closed', { remedy: 'none' });
    const place = this.idlePlaceFor(wanted);
    if (place !== undefined) {
      this.idle.remove(place);
      this.busy.add(place);
      return place.use();
    }
    return this.makeRoom() ? this.open(wanted) : null;
  }

  /** Closes the idle sockets of a conversation; those in use are closed when they are given back. */
  drop(conversation: string): void {
    for (const place of this.idle.of(conversation)) this.close(place);
    for (const place of this.busy) if (place.conversation === conversation) place.isLast = true;
  }

  /** Closes the idle sockets, and those in use when they are given back. */
  retire(): void {
    this.isRetired = true;
    for (const place of this.idle) this.close(place);
  }

  /** Closes all sockets, and waits a moment for it. */
  async destroy(): Promise<void> {
    this.isDestroyed = true;
    for (const place of [...this.idle, ...this.busy]) this.close(place);
    await this.options.clock.within(Promise.all(this.closing), CLOSE_MS);
  }

  /** The idle socket that suits best. Those of the conversation that suit no turn any more are closed. */
  private idlePlaceFor({ conversation, headers, responseId }: WantedSocket): PoolPlace | undefined {
    const now = this.options.clock.now();
    const places = this.idle.of(conversation).filter((place) => {
      const isUsable = place.isUsable(now, headers);
      if (!isUsable) this.close(place);
      return isUsable;
    });
    const continuing = places.find(
      ({ socket: { baseline } }) => baseline !== null && baseline.responseId === responseId,
    );
    return continuing ?? places.at(-1);
  }

  /** Whether there is room for one more socket; an idle one is closed for it. */
  private makeRoom(): boolean {
    if (this.size < this.options.websockets.connections) return true;
    const { leastUseful } = this.idle;
    if (leastUseful === undefined) return false;
    this.close(leastUseful);
    return true;
  }

  private async open(wanted: WantedSocket): Promise<UpstreamSocket> {
    const place: PoolPlace = new PoolPlace(wanted, this.options, {
      onReleased: () => this.keep(place),
      onGone: () => this.forget(place),
      onExpired: () => this.close(place),
    });
    this.busy.add(place);
    try {
      return await place.open(wanted.signal);
    } catch (error) {
      this.forget(place);
      throw error;
    }
  }

  private keep(place: PoolPlace): void {
    this.busy.delete(place);
    if (place.isLast || this.isRetired) {
      this.close(place);
      return;
    }
    this.idle.add(place);
    place.rest();
  }

  private close(place: PoolPlace): void {
    this.forget(place);
    const closed = place.close();
    this.closing.add(closed);
    void closed.then(() => this.closing.delete(closed));
  }

  private forget(place: PoolPlace): void {
    place.endRest();
    this.busy.delete(place);
    this.idle.remove(place);
  }
}

/** Sockets that wait for another request of their conversation. */
class IdleSockets {
  /** Sockets after their first turn. The longest idle one comes first. */
  private readonly usedOnce = new Set<PoolPlace>();
  /** Sockets after a further turn, in the same order. */
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

  /** The idle sockets of a conversation; the last that became idle comes last. */
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
