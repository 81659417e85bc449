import { checkEventOrder } from './event-order.js';
import type { WireEvent } from './rule.js';
import type { Service } from './service.js';
import { openStream, postJson } from './sse.js';

/** A Response as it was on the wire. */
export type WireResponse = Readonly<Record<string, unknown>> & { readonly id: string; readonly status: string };

/** What a turn gave. */
export interface TurnResult {
  /** Every event, for transports that have them. */
  readonly events?: readonly WireEvent[];
  readonly response: WireResponse;
}

/** A way for a turn to reach the service and come back. */
export interface Transport {
  readonly name: string;
  /** Runs one turn to its end; its events, if any, have passed the checker. Rejects with Refusal when it is refused. */
  run(service: Service, body: object): Promise<TurnResult>;
}

/** A turn that was refused before `response.created`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {
    super(`refused with ${status}: ${JSON.stringify(body)}`);
  }
}

/** `POST /responses`, answered with one JSON body. */
export const JSON_TRANSPORT: Transport = {
  name: 'json',
  async run(service, body) {
    const { status, body: answer } = await postJson(`${service.baseURL}/responses`, body);
    if (status !== 200) throw new Refusal(status, answer);
    return { response: answer as WireResponse };
  },
};

/** `POST /responses` with `stream: true`. */
export const SSE_TRANSPORT: Transport = {
  name: 'sse',
  async run(service, body) {
    const answer = await openStream(`${service.baseURL}/responses`, body);
    if (!answer.streams) throw new Refusal(answer.status, answer.body);
    const events = await Array.fromAsync(answer.events);
    checkEventOrder(events, { transport: 'sse' });
    return { events, response: events.at(-1)?.['response'] as WireResponse };
  },
};

/** Every transport a turn can take. What is true of one has to be true of all. */
export const TRANSPORTS: readonly Transport[] = [JSON_TRANSPORT, SSE_TRANSPORT];
