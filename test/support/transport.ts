import type { WireEvent } from './rule.js';
import type { Service } from './service.js';

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

  /** The error of the body. */
  get error(): unknown {
    return (this.body as { readonly error: unknown }).error;
  }
}
