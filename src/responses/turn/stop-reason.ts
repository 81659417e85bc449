import { ConnectionCutError } from '../../providers/index.js';

/** Why a running turn was stopped; it decides how the response ends. */
export type StopReason =
  /** The client went away: nobody listens, nothing is stored. */
  | 'disconnect'
  /** The model said nothing for too long. */
  | 'timeout'
  /** The process is shutting down and the turn outlived its grace. */
  | 'drain'
  /** The connection of the turn is at its end and the turn outlived its grace. */
  | 'expiry'
  /** Another turn took over the session because this one could not keep it. */
  | 'session_lost'
  /** The turn is over without the model's own end; what still runs for it is to stop. */
  | 'over';

/** Thrown inside a turn that was stopped, and the reason that the model's signal gives. */
export class TurnStoppedError extends Error {
  override readonly name = 'TurnStoppedError';

  constructor(readonly reason: StopReason) {
    super(`the turn was stopped: ${reason}`);
  }
}

/** Whether a turn stopped because its client went away, or is to. */
export function isDisconnect(error: unknown): boolean {
  if (error instanceof ConnectionCutError) return true;
  return error instanceof TurnStoppedError && error.reason === 'disconnect';
}
