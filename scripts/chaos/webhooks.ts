import OpenAI from 'openai';

import { WebhookReceiver } from '../../test/support/webhooks/webhook-receiver.ts';

/** What came for the end of one response. */
export interface Announced {
  /** Of every delivery. */
  readonly webhookIds: Set<string>;
  readonly types: Set<string>;
}

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** An endpoint to which the services send webhooks. */
export class Webhooks implements AsyncDisposable {
  /** What came, by response. */
  readonly announced = new Map<string, Announced>();
  /** Deliveries that were not signed as they must be. */
  readonly unsigned: string[] = [];
  private noted = Promise.withResolvers<undefined>();
  private readonly receiver: WebhookReceiver;
  private readonly verifier = new OpenAI({ apiKey: 'unused', webhookSecret: SECRET });

  private constructor(receiver: WebhookReceiver) {
    this.receiver = receiver;
    void this.read();
  }

  static async open(): Promise<Webhooks> {
    return new Webhooks(await WebhookReceiver.open());
  }

  /** What makes a service send its webhooks here. */
  get environment(): Readonly<Record<string, string>> {
    return { WEBHOOK_URL: this.receiver.url, WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW_LOOPBACK: 'true' };
  }

  /** Resolves when the next delivery was noted. */
  get next(): Promise<undefined> {
    return this.noted.promise;
  }

  /** Refuses the next delivery, so that it has to be repeated. */
  failNext(): void {
    this.receiver.answers.push(500);
  }

  /** Notes a delivery. */
  note(responseId: string, webhookId: string, type: string): void {
    const announced = this.announced.get(responseId) ?? { webhookIds: new Set(), types: new Set() };
    this.announced.set(responseId, announced);
    announced.webhookIds.add(webhookId);
    announced.types.add(type);
    this.noted.resolve(undefined);
    this.noted = Promise.withResolvers();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.receiver[Symbol.asyncDispose]();
  }

  /** Verifies every delivery when it comes: a signature is valid for some minutes. */
  private async read(): Promise<void> {
    for (;;) {
      // Some may have come while the ones before were verified.
      if (this.receiver.received.length === 0) await this.receiver.next;
      for (const { headers, body } of this.receiver.received.splice(0)) {
        try {
          const event = await this.verifier.webhooks.unwrap(body, headers);
          this.note((event.data as { readonly id: string }).id, String(headers['webhook-id']), event.type);
        } catch (error) {
          this.unsigned.push(`${body}: ${String(error)}`);
        }
      }
    }
  }
}
