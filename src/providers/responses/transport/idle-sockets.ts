import type { UpstreamSocket } from './upstream-socket.js';

/** An open socket of a SocketPool. */
export interface PooledSocket {
  readonly conversation: string;
  readonly socket: UpstreamSocket;
}

/** Sockets that wait for another request of their conversation. */
export class IdleSockets<Pooled extends PooledSocket> {
  /** The longest idle one comes first. */
  private readonly all = new Set<Pooled>();
  private readonly byConversation = new Map<string, Pooled[]>();

  get size(): number {
    return this.all.size;
  }

  get longestIdle(): Pooled | undefined {
    return this.all.values().next().value;
  }

  /** Those of a conversation; the last that became idle comes last. */
  of(conversation: string): readonly Pooled[] {
    return this.byConversation.get(conversation) ?? [];
  }

  add(pooled: Pooled): void {
    this.all.add(pooled);
    const siblings = this.byConversation.get(pooled.conversation);
    if (siblings === undefined) this.byConversation.set(pooled.conversation, [pooled]);
    else siblings.push(pooled);
  }

  /** Returns whether it was idle. */
  remove(pooled: Pooled): boolean {
    if (!this.all.delete(pooled)) return false;
    const left = this.of(pooled.conversation).filter((other) => other !== pooled);
    if (left.length > 0) this.byConversation.set(pooled.conversation, left);
    else this.byConversation.delete(pooled.conversation);
    return true;
  }

  [Symbol.iterator](): Iterator<Pooled> {
    return this.all.values();
  }
}
