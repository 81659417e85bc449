import cluster from 'node:cluster';

import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';

import { Clock, type MaybePromise } from '../../time/index.js';
import type { SiblingMessage } from '../workers/index.js';

/** How long the others may take to answer, ms. */
const LIMIT_MS = 1000;

/** Longest question, characters: what it names would not be found if it had a longer name. */
const LONGEST_QUESTION = 2048;

/** What the other workers have answered. */
export interface SiblingReplies<Reply> {
  readonly replies: readonly Reply[];
  /** How many did not answer in time. */
  readonly silent: number;
}

/** What workers ask each other about. */
export interface SiblingTopic<Question, Reply> {
  /** Asks all other workers. Never rejects; without others it answers at once. */
  ask(question: Question): Promise<SiblingReplies<Reply>>;
}

/** A question that waits for its replies. */
interface OpenQuestion {
  readonly replies: unknown[];
  /** How many cannot answer. */
  failed: number;
  /** How many were asked; unknown until the primary process has said so. */
  count: number | undefined;
  readonly end: () => void;
}

/** The other workers of the instance (`WORKERS=n`), asked through the process that started them. Without workers there are no others. */
@Injectable()
export class Siblings implements OnApplicationShutdown {
  private readonly logger = new Logger('Siblings');
  private readonly answers = new Map<string, (question: unknown) => MaybePromise<unknown>>();
  private readonly open = new Map<number, OpenQuestion>();
  private last = 0;

  constructor(private readonly clock: Clock) {
    if (cluster.isWorker) process.on('message', this.onMessage);
  }

  onApplicationShutdown(): void {
    process.off('message', this.onMessage);
    for (const { end } of this.open.values()) end();
  }

  /** A topic, and how this worker answers. Questions and replies are JSON. */
  topic<Question, Reply>(
    name: string,
    answer: (question: Question) => MaybePromise<Reply>,
  ): SiblingTopic<Question, Reply> {
    this.answers.set(name, answer as (question: unknown) => MaybePromise<unknown>);
    return {
      ask: async (question) => (cluster.isWorker ? this.ask<Reply>(name, question) : { replies: [], silent: 0 }),
    };
  }

  private async ask<Reply>(topic: string, question: unknown): Promise<SiblingReplies<Reply>> {
    if (JSON.stringify(question).length > LONGEST_QUESTION) return { replies: [], silent: 0 };
    const number = (this.last += 1);
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    const asked: OpenQuestion = { replies: [], failed: 0, count: undefined, end: () => resolve(undefined) };
    this.open.set(number, asked);
    const limit = this.clock.schedule(LIMIT_MS, asked.end);
    // Without the process that passes it on there is nobody to ask.
    if (!send({ type: 'antiphon.ask', number, topic, question })) asked.end();
    await ended;
    limit.cancel();
    this.open.delete(number);
    const { replies, count = replies.length } = asked;
    return { replies: replies as Reply[], silent: count - replies.length };
  }

  /** Programs may send other messages over the same channel. */
  private readonly onMessage = (message: SiblingMessage | null): void => {
    if (message?.type === 'antiphon.asked') void this.answer(message);
    if (message?.type !== 'antiphon.asking' && message?.type !== 'antiphon.reply') return;
    const asked = this.open.get(message.number);
    if (asked === undefined) return;
    if (message.type === 'antiphon.asking') asked.count = message.count;
    else if ('reply' in message) asked.replies.push(message.reply);
    else asked.failed += 1;
    if (asked.replies.length + asked.failed === asked.count) asked.end();
  };

  private async answer({
    number,
    from,
    topic,
    question,
  }: Extract<SiblingMessage, { type: 'antiphon.asked' }>): Promise<void> {
    let answer: { readonly reply?: unknown } = {};
    try {
      const reply = await this.answers.get(topic)?.(question);
      if (reply !== undefined) answer = { reply };
    } catch (error) {
      this.logger.error(`a question of another worker about ${topic} failed`, error);
    }
    send({ type: 'antiphon.reply', number, from, ...answer });
  }
}

/** False when the channel is closed. */
function send(message: SiblingMessage): boolean {
  if (process.send === undefined || !process.connected) return false;
  process.send(message, undefined, undefined, () => undefined);
  return true;
}
