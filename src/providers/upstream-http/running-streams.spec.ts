import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Dispatcher } from 'undici';

import { FakeClock } from '../../testing/index.js';
import { ExchangeTimer } from './exchange-timer.js';
import { UpstreamAnswer } from './upstream-answer.js';

/** What the connection of an answer offers to its reader. */
const CONNECTION = { pause: () => undefined, resume: () => undefined } as unknown as Dispatcher.DispatchController;

const TIMEOUTS = { connectMs: 1000, firstByteMs: 1000, idleMs: 1000 };

/** An answer of which the test brings each piece, in the moment the test chooses. */
class Answer {
  private readonly handler: UpstreamAnswer;

  constructor(
    private readonly name: string,
    private readonly read: string[],
    private readonly onPiece: () => void = () => undefined,
  ) {
    const clock = new FakeClock();
    this.handler = new UpstreamAnswer(new ExchangeTimer(new AbortController().signal, clock, TIMEOUTS), clock);
    this.handler.onRequestStart(CONNECTION);
    this.handler.onResponseStart(CONNECTION, 200, {});
    void this.handler.read((piece) => {
      this.read.push(`${this.name}${Buffer.from(piece).toString()}`);
      this.onPiece();
      return undefined;
    });
  }

  /** Lets a piece arrive. */
  arrive(piece: number): this {
    this.handler.onResponseData(CONNECTION, Buffer.from(String(piece)));
    return this;
  }
}

/** An answer that has begun: its first pieces have been read. */
async function running(name: string, read: string[], onPiece?: () => void): Promise<Answer> {
  const answer = new Answer(name, read, onPiece);
  for (const piece of [1, 2, 3]) {
    answer.arrive(piece);
    await Promise.resolve();
  }
  expect(read.splice(0)).toEqual([1, 2, 3].map((piece) => `${name}${piece}`));
  return answer;
}

describe('the order in which the pieces of several answers are read', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('the service reads the first pieces of an answer before those of answers under way that arrived earlier', async () => {
    const read: string[] = [];
    const old = await running('old ', read);
    old.arrive(4);
    const young = new Answer('new ', read);
    young.arrive(1);
    await Promise.resolve();
    young.arrive(2);
    await nextLoopTurn();
    expect(read).toEqual(['new 1', 'new 2', 'old 4']);
  });

  it('the service reads answers under way in the order in which their pieces arrived, and what came together as one', async () => {
    const read: string[] = [];
    const [one, two] = [await running('one ', read), await running('two ', read)];
    two.arrive(4);
    one.arrive(4);
    two.arrive(5);
    while (read.length < 2) await nextLoopTurn();
    expect(read).toEqual(['two 45', 'one 4']);
  });

  it('the service lets an answer begin between two slices of the answers under way', async () => {
    const read: string[] = [];
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const old: Answer[] = [];
    for (const name of 'abcde') old.push(await running(name, read, () => (nowMs += 0.4)));
    for (const answer of old) answer.arrive(4);
    await nextLoopTurn();
    // A slice of 1 ms has room for three of them.
    expect(read).toEqual(['a4', 'b4', 'c4']);
    new Answer('new', read).arrive(1);
    await nextLoopTurn();
    expect(read).toEqual(['a4', 'b4', 'c4', 'new1', 'd4', 'e4']);
  });
});
