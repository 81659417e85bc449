import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';
import type { WebSocket } from 'ws';

import { FakeClock } from '../../../testing/index.js';
import { SocketExchange } from './socket-exchange.js';

/** A socket that only knows whether it is paused. */
class TestSocket {
  isPaused = false;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }
}

/** An answer of which the test brings each message, in the moment the test chooses. */
class Answer {
  readonly socket = new TestSocket();
  private readonly exchange = new SocketExchange({
    socket: this.socket as unknown as WebSocket,
    headers: {},
    idleMs: 1000,
    signal: new AbortController().signal,
    clock: new FakeClock(),
  });
  readonly whenRead: Promise<void>;

  constructor(name: string, read: string[]) {
    this.whenRead = this.exchange.read({
      take: (message) => {
        read.push(`${name} ${message.slice(0, 10)}`);
        return message === 'end';
      },
      flush: () => undefined,
    });
  }

  arrive(...messages: readonly string[]): this {
    for (const message of messages) this.exchange.take(message);
    return this;
  }

  fail(error: Error): void {
    this.exchange.fail(error);
  }
}

/** An answer that is under way: its first messages have been read. */
function running(name: string, read: string[]): Answer {
  const first = ['1', '2', '3', '4', '5', '6', '7', '8'];
  const answer = new Answer(name, read).arrive(...first);
  expect(read.splice(0)).toEqual(first.map((message) => `${name} ${message}`));
  return answer;
}

describe('the order in which the messages of several answers are read', () => {
  it('the service reads the first messages of an answer before those of answers under way that arrived earlier', async () => {
    const read: string[] = [];
    const old = running('old', read).arrive('9', 'end');
    new Answer('new', read).arrive('1', '2');
    await old.whenRead;
    expect(read).toEqual(['new 1', 'new 2', 'old 9', 'old end']);
  });

  it('the service reads answers under way in the order in which their messages arrived', async () => {
    const read: string[] = [];
    const [one, two] = [running('one', read), running('two', read)];
    two.arrive('9');
    one.arrive('9', 'end');
    two.arrive('end');
    await Promise.all([one.whenRead, two.whenRead]);
    expect(read).toEqual(['two 9', 'two end', 'one 9', 'one end']);
  });

  it('the service pauses a socket that brings more than can wait, until its messages were read', async () => {
    const read: string[] = [];
    const answer = running('a', read).arrive('x'.repeat(60_000));
    expect(answer.socket.isPaused).toBe(false);
    answer.arrive('y'.repeat(60_000));
    expect(answer.socket.isPaused).toBe(true);
    await nextLoopTurn();
    expect(read).toEqual(['a xxxxxxxxxx', 'a yyyyyyyyyy']);
    expect(answer.socket.isPaused).toBe(false);
  });

  it('the service reads what has arrived before it reports that the socket is lost', async () => {
    const read: string[] = [];
    const answer = running('a', read).arrive('9');
    answer.fail(new Error('lost'));
    await expect(answer.whenRead).rejects.toThrow('lost');
    expect(read).toEqual(['a 9']);
  });
});
