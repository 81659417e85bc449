import type { WireEvent } from '../../src/testing/index.js';
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
  /**
   * Runs one turn to its end; its events, if any, have passed the checker. The headers are those of the request, or of the upgrade. Rejects
   * with Refusal when it is refused.
   */
  run(service: Service, body: object, headers?: Readonly<Record<string, string>>): Promise<TurnResult>;
}

/** A turn that was refused before `response.created`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    readonly body: unknown,
    /** What the client is told to wait, seconds. */
    readonly retryAfter: string | null = null,
  ) {
    super(`refused with ${status}: ${JSON.stringify(body)}`);
  }

  /** The error of the body. */
  get error(): Readonly<Record<string, unknown>> {
    return (this.body as { readonly error: Readonly<Record<string, unknown>> }).error;
  }
}
