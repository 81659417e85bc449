import { randomUUID } from 'node:crypto';

import type { Clock } from '../../time/index.js';
import { type NoticeConnection, NoticeReceiver } from '../notice-receiver.js';
import type { DeletionNotices, RunNotices } from '../notices.js';
import { connectSubscriber, type RedisSettings } from './connection-options.js';
import { reasonOf } from './errors.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import type { Command } from './script.js';

/** Most responses that one message names. */
const MOST_IDS = 500;

/** What is told of responses. */
type Topic = 'deleted' | 'logged' | 'ended';

/**
 * Tells the other replicas of changes, and this process of theirs, by publication. A message is JSON: the id of the
 * process that sent it, which knows already, and the ids of responses.
 */
export class RedisNotices extends NoticeReceiver {
  private readonly processId = randomUUID();
  private readonly receivers: Readonly<Record<string, (ids: readonly string[]) => void>>;
  private readonly checks: string;
  /** Whether messages have come that this program does not send. */
  private hasForeign = false;

  constructor(
    private readonly settings: RedisSettings,
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    deletions: DeletionNotices,
    runs: RunNotices,
    clock: Clock,
  ) {
    super(deletions, runs, clock);
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

  private async publish(messages: readonly Command[]): Promise<void> {
    if (messages.length > 0) await this.redis.read(...messages);
  }

  /** Throws while the file of the certificate authority cannot be read, such as while it is replaced. */
  protected override connect(attempt: number, lose: (reason: Error) => void): NoticeConnection {
    const client = connectSubscriber(this.settings, attempt);
    let isAlive = true;
    client.on('error', lose);
    client.on('end', () => lose(new Error('the connection was closed')));
    client.on('message', (channel: string, text: string) => {
      if (channel === this.checks) isAlive ||= text === this.processId;
      else this.hear(channel, text);
    });
    return {
      open: () => client.connect().then(() => client.subscribe(...Object.keys(this.receivers), this.checks)),
      // This process sends itself a notice: a connection on which nothing arrives until the next check is dead.
      check: async () => {
        if (!isAlive) throw new Error('nothing arrives');
        isAlive = false;
        // A message that cannot be sent does not arrive either.
        await this.redis.read(['PUBLISH', this.checks, this.processId]).catch(() => undefined);
      },
      close: () => {
        if (client.status !== 'end') client.disconnect();
      },
    };
  }

  protected override reasonOf(error: unknown): string {
    return reasonOf(error);
  }

  private hear(channel: string, text: string): void {
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
