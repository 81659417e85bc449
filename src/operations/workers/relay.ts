/** Messages with which workers ask each other; the primary process only passes them on. */
export type SiblingMessage =
  /** A worker asks all others. */
  | { readonly type: 'antiphon.ask'; readonly number: number; readonly topic: string; readonly question: unknown }
  /** The primary process tells the worker that asks how many it has asked. */
  | { readonly type: 'antiphon.asking'; readonly number: number; readonly count: number }
  /** Another worker is asked. `from`: the number that the primary process gave the one that asks. */
  | {
      readonly type: 'antiphon.asked';
      readonly number: number;
      readonly from: number;
      readonly topic: string;
      readonly question: unknown;
    }
  /** A worker that was asked answers; without `reply` it cannot. */
  | { readonly type: 'antiphon.reply'; readonly number: number; readonly from: number; readonly reply?: unknown };

/** Questions that a worker has not answered: one that hangs is asked no more, since what is sent to it waits in the memory of the primary process. */
const MOST_UNANSWERED = 64;

/** A worker to which messages are passed on. */
export interface Sibling {
  readonly id: number;
  send(message: SiblingMessage): void;
}

/** Passes messages on between workers that listen. It waits for nothing and keeps nothing of what they say. */
export class Relay {
  private readonly siblings = new Map<number, { readonly sibling: Sibling; unanswered: number }>();

  join(sibling: Sibling): void {
    this.siblings.set(sibling.id, { sibling, unanswered: 0 });
  }

  leave(id: number): void {
    this.siblings.delete(id);
  }

  /** Takes a message of a worker. */
  heard(sender: Sibling, message: SiblingMessage): void {
    if (message.type === 'antiphon.reply') this.passReply(sender, message);
    if (message.type === 'antiphon.ask') this.ask(sender, message);
  }

  private passReply(sender: Sibling, message: Extract<SiblingMessage, { type: 'antiphon.reply' }>): void {
    const one = this.siblings.get(sender.id);
    if (one !== undefined) one.unanswered -= 1;
    this.siblings.get(message.from)?.sibling.send(message);
  }

  private ask(sender: Sibling, { number, topic, question }: Extract<SiblingMessage, { type: 'antiphon.ask' }>): void {
    const others = [...this.siblings.values()].filter(({ sibling }) => sibling.id !== sender.id);
    sender.send({ type: 'antiphon.asking', number, count: others.length });
    for (const other of others) {
      if (other.unanswered >= MOST_UNANSWERED) continue;
      other.unanswered += 1;
      other.sibling.send({ type: 'antiphon.asked', number, from: sender.id, topic, question });
    }
  }
}
