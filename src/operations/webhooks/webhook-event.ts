import type { ResponseObject } from '../../protocol/index.js';

/** An event to announce, as plain data of a job: each attempt to send it sends the same. */
export interface WebhookEvent {
  /** `evt_…` */
  readonly id: string;
  readonly type: `response.${NonNullable<ResponseObject['status']>}`;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  readonly responseId: string;
  /** Whose response it is; for the log. */
  readonly tenant: string;
}

/** The body of the request, in the form of OpenAI's webhooks. */
export function toBody({ id, type, createdAt, responseId }: WebhookEvent): string {
  return JSON.stringify({ id, object: 'event', created_at: createdAt, type, data: { id: responseId } });
}
