import { ConnectionCutError } from '../../providers/index.js';

/** Why a running turn was stopped; it decides how the response ends. */
export type StopReason =
  /** The client disconnected: nothing is stored. */
  | 'disconnect'
  /** The model was silent for too long. */
  | 'timeout'
  /** The process is shutting down and the grace period of the turn is over. */
  | 'drain'
  /** The connection has expired and the grace period of the turn is over. */
  | 'expiry'
  /** Another turn took over the session, because its lock could not be renewed. */
  | 'session_lost'
  /** The turn is over without the model's own end; remaining work is stopped. */
  | 'over';

/** Thrown in a stopped turn, and the reason of its abort signal. */
export class TurnStoppedError extends Error {
  override readonly name = 'TurnStoppedError';

  constructor(readonly reason: StopReason) {
    super(`the turn was stopped: ${reason}`);
  }
}

/** Whether a turn ended because its client disconnected or must be disconnected. */
export function isDisconnect(error: unknown): boolean {
  if (error instanceof ConnectionCutError) return true;
  return error instanceof TurnStoppedError && error.reason === 'disconnect';
}
