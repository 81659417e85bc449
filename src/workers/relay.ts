/** Messages with which workers ask each other; the primary process only passes them on. */
export type SiblingMessage =
  /** A worker asks all others. */
  | { readonly type: 'antiphon.ask'; readonly number: number; readonly topic: string; readonly question: unknown }
  /** It is told how many were asked. */
  | { readonly type: 'antiphon.asking'; readonly number: number; readonly count: number }
  /** Another worker is asked. `from`: the number that the primary process gave the one that asks. */
  | {
      readonly type: 'antiphon.asked';
      readonly number: number;
      readonly from: number;
      readonly topic: string;
      readonly question: unknown;
    }
  /** It answers. */
  | { readonly type: 'antiphon.reply'; readonly number: number; readonly from: number; readonly reply: unknown };

/** A worker to which messages are passed on. */
export interface Sibling {
  readonly id: number;
  send(message: SiblingMessage): void;
}

/** Passes messages on between workers that listen. It waits for nothing and keeps nothing of what they say. */
export class Relay {
  private readonly siblings = new Map<number, Sibling>();

  join(sibling: Sibling): void {
    this.siblings.set(sibling.id, sibling);
  }

  leave(id: number): void {
    this.siblings.delete(id);
  }

  /** Takes a message of a worker. */
  heard(sender: Sibling, message: SiblingMessage): void {
    const { number } = message;
    if (message.type === 'antiphon.reply') this.siblings.get(message.from)?.send(message);
    if (message.type !== 'antiphon.ask') return;
    const { topic, question } = message;
    const others = [...this.siblings.values()].filter(({ id }) => id !== sender.id);
    sender.send({ type: 'antiphon.asking', number, count: others.length });
    for (const other of others) other.send({ type: 'antiphon.asked', number, from: sender.id, topic, question });
  }
}
