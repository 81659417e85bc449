import { once } from 'node:events';

import { Logger } from '@nestjs/common';
import { Cluster, type Redis as Client } from 'ioredis';

import { OutageLog } from '../../logging/index.js';
import { Backoff, type Clock } from '../../time/index.js';
import { PAUSES } from '../repeat.js';
import { createClient, type RedisSettings } from './connection-options.js';
import { isEndOfRound, reasonOf, SentinelRound } from './errors.js';

/** A connection that ends without an error: the driver closes the one to a server that is no primary any more. */
const closed = (): Error => new Error('the connection was closed');

/**
 * A connection that opens itself again when it is lost: at once, then with pauses that grow. Nothing is queued while it is
 * away, and nothing that was sent is sent again: whoever sends decides.
 */
export class RedisConnection {
  readonly client: Client | Cluster;
  private readonly logger = new Logger('Redis');
  private readonly outages = new OutageLog(this.logger);
  private readonly backoff: Backoff;
  private state: 'new' | 'ready' | 'lost' | 'away' | 'closed' = 'new';
  private reason: unknown = closed();
  private hasQuit = false;
  private readonly round: SentinelRound | undefined;
  private opening: PromiseWithResolvers<void> | undefined;

  constructor(settings: RedisSettings, clock: Clock) {
    this.backoff = new Backoff(clock, PAUSES);
    this.client = createClient(settings, {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: settings.REDIS_COMMAND_TIMEOUT_MS,
      retryStrategy: () => this.pause(),
    });
    this.round = this.client instanceof Cluster ? undefined : new SentinelRound(this.client);
    this.client.on('ready', () => this.ready());
    this.client.on('error', (error: unknown) => {
      // The error only says that a round has ended; the reason that is known says more.
      if (this.state !== 'away' || !isEndOfRound(error)) this.reason = error;
    });
  }

  get isReady(): boolean {
    const { client } = this;
    if (client.status !== 'ready') return false;
    // The driver calls a connection that the server has ended ready until its stream is closed.
    return client instanceof Cluster || client.stream.writable;
  }

  /** Why nothing can be sent; undefined while there is a connection, or the first attempt to open one again. */
  get fault(): unknown {
    return this.state === 'away' ? this.reason : undefined;
  }

  /** Every server that is written to. */
  get primaries(): readonly Client[] {
    return this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
  }

  /** Opens the connection. Rejects when the first attempt fails; others follow. */
  async open(): Promise<void> {
    const ready = this.untilReady();
    // `ready` rejects with the same error, or a more telling one.
    this.client.connect().catch(() => undefined);
    await ready;
  }

  /** Resolves when commands can be sent. Rejects when the last attempt to connect has failed, or the one that is made does. */
  async untilReady(): Promise<void> {
    if (this.isReady) return;
    if (this.state === 'away' || this.state === 'closed') throw this.reason;
    this.opening ??= Promise.withResolvers();
    await this.opening.promise;
  }

  /** Waits for the replies to what was sent: then the server closes the connection. */
  async quit(): Promise<void> {
    const wasReady = this.isReady;
    this.end();
    if (wasReady) this.hasQuit = (await this.client.quit().catch(() => undefined)) !== undefined;
  }

  /** Closes the connection. */
  cut(): void {
    this.end();
    // A driver that closes a closed one waits for two seconds.
    if (!this.hasQuit && this.client.status !== 'end') this.client.disconnect();
  }

  private end(): void {
    this.state = 'closed';
    this.fail(closed());
  }

  private ready(): void {
    if (this.state === 'away') this.logger.log('Redis is available again');
    this.state = 'ready';
    this.reason = closed();
    this.backoff.succeeded();
    this.opening?.resolve();
    this.opening = undefined;
  }

  /** The pause before the next attempt to connect, ms; null when there is to be none. */
  private pause(): number | null {
    if (this.state === 'closed') return null;
    this.reason = this.round?.end() ?? this.reason;
    if (this.state === 'ready') {
      this.state = 'lost';
      return 0;
    }
    // Only who waits for the first attempt is told why it failed.
    if (this.state === 'lost') this.outages.warn('the connection was lost', reasonOf(this.reason));
    this.state = 'away';
    this.fail(this.reason);
    return this.backoff.failed();
  }

  private fail(reason: unknown): void {
    this.reason = reason;
    // There may be nothing that waits for it.
    this.opening?.promise.catch(() => undefined);
    this.opening?.reject(reason);
    this.opening = undefined;
  }
}

/** Breaks a connection; resolves when the driver knows. */
export async function close(stream: Client['stream'] | undefined): Promise<void> {
  if (stream === undefined || stream.closed) return;
  const closed = once(stream, 'close');
  stream.destroy();
  await closed;
}
