import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { OutageLog, quote } from '../../logging/index.js';
import { type Job, JobHandedBackError, JobQueue, type QueueWorker } from '../../state/index.js';
import { Clock, LastWaits } from '../../time/index.js';
import type { WebhookClient } from './webhook-client.js';
import type { WebhookEvent } from './webhooks.js';

/** Webhooks that one process sends at once. */
const CONCURRENCY = 16;

/** Pauses between two attempts, seconds: by default, WEBHOOK_MAX_ATTEMPTS attempts last a day. */
const FIRST_PAUSE_S = 10;
const LONGEST_PAUSE_S = 2 * 60 * 60;

/** What an attempt may take beyond WEBHOOK_TIMEOUT_MS before the queue takes it for lost, seconds. */
const MARGIN_S = 30;

/** How long attempts may go on in a shutdown, ms. Those that are stopped are made again by another process. */
const LAST_ATTEMPTS_MS = 2000;

/** Sends the webhooks of the queue, until the application stops. What fails is sent again later, up to WEBHOOK_MAX_ATTEMPTS times. */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Webhooks');
  private readonly outages: OutageLog;
  private readonly stopping = new AbortController();
  private stop: (() => Promise<void>) | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly queue: JobQueue,
    private readonly clock: Clock,
    private readonly lastWaits: LastWaits,
  ) {
    this.outages = new OutageLog(this.logger, clock);
  }

  async onApplicationBootstrap(): Promise<void> {
    const { WEBHOOK_URL, WEBHOOK_TIMEOUT_MS, BACKGROUND_LEASE } = this.environment;
    if (WEBHOOK_URL === '') return;
    // Loaded on demand: the HTTP client consists of about a hundred files.
    const { WebhookClient } = await import('./webhook-client.js');
    const client = new WebhookClient(this.environment, this.clock);
    const options = {
      concurrency: CONCURRENCY,
      leaseSeconds: BACKGROUND_LEASE,
      maxRunSeconds: Math.ceil(WEBHOOK_TIMEOUT_MS / 1000) + MARGIN_S,
      retryDelaySeconds: FIRST_PAUSE_S,
      longestRetryDelaySeconds: LONGEST_PAUSE_S,
      // `send` counts them. A queue would drop the job without a word when the last attempt was cut off by a shutdown or a crash.
      maxAttempts: Number.MAX_SAFE_INTEGER,
    };
    const worker = await this.queue.work('webhooks', options, (job) => this.send(client, job));
    this.stop = () => this.end(worker, client);
  }

  /** Runs after the last turn has ended, and before StateModule, which this module imports, closes the queue. */
  async onApplicationShutdown(): Promise<void> {
    if (this.stop !== null) await this.lastWaits.wait(this.stop());
  }

  private async end(worker: QueueWorker, client: WebhookClient): Promise<void> {
    const timer = this.clock.schedule(LAST_ATTEMPTS_MS, () => this.stopping.abort(new Error('the process shuts down')));
    await worker.stop();
    timer.cancel();
    await client.close();
  }

  /** Rejects when the queue is to deliver the job again. */
  private async send(client: WebhookClient, job: Job): Promise<void> {
    const event = job.data as WebhookEvent;
    const signal = AbortSignal.any([job.signal, this.stopping.signal]);
    const status = await client.send(event, signal).catch(reasonOf);
    if (typeof status === 'number' && status >= 200 && status < 300) return;
    const reason = typeof status === 'number' ? `HTTP ${status}` : status;
    if (signal.aborted) throw new JobHandedBackError('the attempt was stopped');
    if (status === 410 || job.attempt >= this.environment.WEBHOOK_MAX_ATTEMPTS) {
      this.giveUp(event, job.attempt, reason);
      return;
    }
    this.outages.warn('a webhook was not delivered and is sent again later', reason);
    throw new JobHandedBackError(reason);
  }

  private giveUp({ type, responseId, tenant }: WebhookEvent, attempts: number, reason: string): void {
    this.logger.warn(`gave up ${type} of ${responseId} tenant=${quote(tenant)}: ${reason} (attempts: ${attempts})`);
  }
}

/** For the log: the errors of connections name hosts and addresses, but neither paths nor headers. */
function reasonOf(error: Error & { readonly code?: string }): string {
  // The failures of several addresses have no message together.
  return error.message === '' ? (error.code ?? error.name) : error.message;
}
