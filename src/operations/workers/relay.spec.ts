import { describe, expect, it } from '@jest/globals';

import { Relay, type Sibling, type SiblingMessage } from './relay.js';

/** A worker that keeps what it is sent. */
class Worker implements Sibling {
  readonly messages: SiblingMessage[] = [];

  constructor(readonly id: number) {}

  send(message: SiblingMessage): void {
    this.messages.push(message);
  }
}

describe('Relay', () => {
  it('a worker that does not answer is asked 64 questions, and more once it has answered', () => {
    const relay = new Relay();
    const [asking, hanging] = [new Worker(1), new Worker(2)];
    relay.join(asking);
    relay.join(hanging);
    const ask = (number: number): void => {
      relay.heard(asking, { type: 'antiphon.ask', number, topic: 'turn', question: null });
    };
    for (let number = 1; number <= 100; number += 1) ask(number);
    expect(hanging.messages).toHaveLength(64);
    // It counts among those that were asked, so that the worker that asks knows of its silence.
    expect(asking.messages.at(-1)).toEqual({ type: 'antiphon.asking', number: 100, count: 1 });
    relay.heard(hanging, { type: 'antiphon.reply', number: 1, from: 1, reply: 'found' });
    expect(asking.messages.at(-1)).toMatchObject({ number: 1, reply: 'found' });
    for (let number = 101; number <= 102; number += 1) ask(number);
    expect(hanging.messages).toHaveLength(65);
  });
});
