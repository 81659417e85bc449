import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { Webhook } from 'standardwebhooks';
import { Agent } from 'undici';

import type { Environment } from '../../config/index.js';
import { permittedLookup } from '../../http/outbound/index.js';
import { readVersion } from '../../read-version.js';
import type { Clock } from '../../time/index.js';
import type { WebhookEvent } from './webhooks.js';

/** Bytes of an answer's body that are read, so that the connection can be used again; more closes it. */
const LONGEST_ANSWER = 64 * 1024;

/** The endpoint did not answer within WEBHOOK_TIMEOUT_MS. */
class WebhookTimeoutError extends Error {
  override readonly name = 'WebhookTimeoutError';
}

/** Sends signed events to WEBHOOK_URL: pooled connections, a time limit, no redirects, and no private addresses. */
export class WebhookClient {
  private readonly agent: Agent;
  private readonly url: URL;
  private readonly signer: Webhook;
  private readonly timeoutMs: number;
  private readonly userAgent = `antiphon/${readVersion()}`;

  constructor(
    environment: Pick<Environment, 'WEBHOOK_URL' | 'WEBHOOK_SECRET' | 'WEBHOOK_TIMEOUT_MS'>,
    private readonly clock: Clock,
    lookup: LookupFunction = systemLookup,
  ) {
    this.url = new URL(environment.WEBHOOK_URL);
    this.signer = new Webhook(environment.WEBHOOK_SECRET);
    this.timeoutMs = environment.WEBHOOK_TIMEOUT_MS;
    this.agent = new Agent({
      connect: { lookup: permittedLookup(lookup), timeout: this.timeoutMs },
      // `send` has its own time limit.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Sends an event, signed for this moment, and returns the status of the answer. Rejects with WebhookTimeoutError, RefusedAddressError,
   * the reason of the signal, or the error of the connection.
   */
  async send(event: WebhookEvent, signal: AbortSignal): Promise<number> {
    const late = new AbortController();
    const timer = this.clock.schedule(this.timeoutMs, () =>
      late.abort(new WebhookTimeoutError(`no answer within ${this.timeoutMs} ms`)),
    );
    const content = toBody(event);
    try {
      const { statusCode, body } = await this.agent.request({
        origin: this.url.origin,
        path: this.url.pathname + this.url.search,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': this.userAgent,
          ...this.sign(event.id, content),
        },
        body: content,
        signal: AbortSignal.any([signal, late.signal]),
      });
      // The status decides, whatever becomes of the body.
      await body.dump({ limit: LONGEST_ANSWER });
      return statusCode;
    } finally {
      timer.cancel();
    }
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.agent.destroy();
  }

  /** The headers of Standard Webhooks. */
  private sign(id: string, content: string): Readonly<Record<string, string>> {
    const now = new Date(this.clock.now());
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': this.signer.sign(id, now, content),
    };
  }
}

/** The body of the request, in the form of OpenAI's webhooks. */
function toBody({ id, type, createdAt, responseId }: WebhookEvent): string {
  return JSON.stringify({ id, object: 'event', created_at: createdAt, type, data: { id: responseId } });
}
