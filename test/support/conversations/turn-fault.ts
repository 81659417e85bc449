/** A turn that a client was not given, as it saw it. */
export class TurnFault extends Error {
  override readonly name = 'TurnFault';

  constructor(
    /** `cut`: the connection broke. `502`: nobody was there behind the balancer. Else the code that the service gave. */
    readonly kind: string,
    /** The response that had begun. */
    readonly responseId?: string,
    detail?: unknown,
  ) {
    super(`${kind}: ${JSON.stringify(detail)}`);
  }
}

/** What a client may answer by asking again, when a replica dies or the database is away. */
const RETRYABLE = new Set(['cut', '502', 'service_unavailable', 'session_locked', 'server_error']);

/** Whether asking again is all that a client has to do. */
export function isRetryable(error: unknown): error is TurnFault {
  return error instanceof TurnFault && RETRYABLE.has(error.kind);
}
