import { randomUUID } from 'node:crypto';

import { Logger } from '@nestjs/common';
import type { Redis as Client } from 'ioredis';

import { Backoff, type Clock } from '../../time/index.js';
import type { DeletionNotices, RunNotices } from '../notices.js';
import { PAUSES } from '../repeat.js';
import { connectSubscriber, type RedisSettings } from './connection-options.js';
import { reasonOf } from './errors.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import type { Command } from './script.js';

/** How often this process sends a notice to itself, ms: a connection on which nothing arrives is lost. */
const CHECK_INTERVAL_MS = 15_000;
/** Most responses that one message names. */
const MOST_IDS = 500;

/** What is told of responses. */
type Topic = 'deleted' | 'logged' | 'ended';

/**
 * Tells the other replicas of changes, and this process of theirs, by publication. A message is JSON: the id of the
 * process that sent it, which knows already, and the ids of responses.
 */
export class RedisNotices {
  private readonly logger = new Logger('RedisNotices');
  private readonly processId = randomUUID();
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private readonly receivers: Readonly<Record<string, (ids: readonly string[]) => void>>;
  private readonly checks: string;
  private running: Promise<void> = Promise.resolve();
  private isReceiving = true;
  /** Whether messages have come that this program does not send. */
  private hasForeign = false;

  constructor(
    private readonly settings: RedisSettings,
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly deletions: DeletionNotices,
    private readonly runs: RunNotices,
    private readonly clock: Clock,
  ) {
    this.backoff = new Backoff(clock, PAUSES);
    this.checks = keys.channel('check');
    this.receivers = {
      [keys.channel('deleted')]: (ids) => deletions.announce(ids),
      [keys.channel('logged')]: (ids) => runs.announceLogged(ids),
      [keys.channel('ended')]: (ids) => runs.announceEnded(ids),
      [keys.channel('enqueued')]: () => runs.announceEnqueued(),
    };
  }

  /** Tells everybody of deleted responses, this process at once. Throws StoreUnavailableError. */
  async deleted(ids: readonly string[]): Promise<void> {
    this.deletions.announce(ids);
    await this.publish(this.messages('deleted', ids));
  }

  /** Tells the other replicas that events were added to logs. Throws StoreUnavailableError. */
  async logged(ids: readonly string[]): Promise<void> {
    await this.publish(this.messages('logged', ids));
  }

  /** Tells everybody of responses that were ended from outside of their runs, this process at once. Throws StoreUnavailableError. */
  async ended(ids: readonly string[]): Promise<void> {
    this.runs.announceEnded(ids);
    await this.publish(this.messages('ended', ids));
  }

  /** Tells everybody that there are jobs, this process at once. Throws StoreUnavailableError. */
  async enqueued(): Promise<void> {
    this.runs.announceEnqueued();
    await this.publish([['PUBLISH', this.keys.channel('enqueued'), JSON.stringify([this.processId])]]);
  }

  /** The messages to the other replicas, for whoever sends them along with a change. */
  messages(topic: Topic, ids: readonly string[]): readonly Command[] {
    const messages: Command[] = [];
    for (let from = 0; from < ids.length; from += MOST_IDS) {
      const text = JSON.stringify([this.processId, ...ids.slice(from, from + MOST_IDS)]);
      messages.push(['PUBLISH', this.keys.channel(topic), text]);
    }
    return messages;
  }

  /** Begins to receive; the notices of deletions are interrupted until then. */
  start(): void {
    this.deletions.interrupt();
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async publish(messages: readonly Command[]): Promise<void> {
    if (messages.length > 0) await this.redis.read(...messages);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      await this.listen(attempt, signal);
      this.deletions.interrupt();
      await this.clock.sleep(this.backoff.failed(), signal);
    }
  }

  /** Receives notices until the connection is lost. Never rejects. */
  private async listen(attempt: number, signal: AbortSignal): Promise<void> {
    try {
      // Throws while the file of the certificate authority cannot be read, such as while it is replaced.
      await this.receiveFrom(connectSubscriber(this.settings, attempt), signal);
    } catch (error) {
      // Logged once, not with every attempt.
      if (!signal.aborted && this.isReceiving) {
        this.logger.warn(`notices of other replicas are not received: ${reasonOf(error)}`);
      }
      this.isReceiving = false;
    }
  }

  /** Receives notices until the connection is lost, and rejects then. */
  private async receiveFrom(client: Client, signal: AbortSignal): Promise<never> {
    const { promise: loss, reject: lose } = Promise.withResolvers<never>();
    loss.catch(() => undefined);
    const stop = (): void => lose(new Error('the service is stopping'));
    let isAlive = true;
    client.on('error', lose);
    client.on('end', () => lose(new Error('the connection was closed')));
    client.on('message', (channel: string, text: string) => {
      if (channel === this.checks) isAlive ||= text === this.processId;
      else this.receive(channel, text);
    });
    signal.addEventListener('abort', stop, { once: true });
    const check = this.clock.schedule(CHECK_INTERVAL_MS, () => {
      if (!isAlive) lose(new Error('nothing arrives'));
      isAlive = false;
      // A message that cannot be sent does not arrive either.
      const sent = this.redis.read(['PUBLISH', this.checks, this.processId]).catch(() => undefined);
      void sent.then(() => check.refresh());
    });
    try {
      await Promise.race([client.connect(), loss]);
      await Promise.race([client.subscribe(...Object.keys(this.receivers), this.checks), loss]);
      this.backoff.succeeded();
      this.deletions.resume();
      this.runs.announceResumed();
      if (!this.isReceiving) this.logger.log('notices of other replicas are received again');
      this.isReceiving = true;
      return await loss;
    } finally {
      check.cancel();
      signal.removeEventListener('abort', stop);
      if (client.status !== 'end') client.disconnect();
    }
  }

  private receive(channel: string, text: string): void {
    const message = readMessage(text);
    if (message === undefined) {
      if (!this.hasForeign) {
        this.logger.warn(`${channel}: messages of other programs are ignored; give them another REDIS_PREFIX`);
      }
      this.hasForeign = true;
      return;
    }
    const [processId, ...ids] = message;
    if (processId !== this.processId) this.receivers[channel]?.(ids);
  }
}

/** The strings of a message; undefined for one of another program: channels belong to the server, not to a database of it. */
function readMessage(text: string): readonly string[] | undefined {
  try {
    const message: unknown = JSON.parse(text);
    const isOurs = Array.isArray(message) && message.every((one) => typeof one === 'string');
    return isOurs ? message : undefined;
  } catch {
    return undefined;
  }
}
