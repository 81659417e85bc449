import type { Grant } from './grant.js';

/** The authenticated caller of a request. */
export interface Caller extends Grant {
  /** The `x-request-id` of the request, for logs and error texts. */
  readonly requestId: string;
  /** The WebSocket connection of the turn, if any. */
  readonly connectionId?: string;
}
