import { BreakConnectionError } from '../../providers/index.js';

/** Why a running turn was stopped; it decides how the response ends. */
export type StopReason =
  /** The client went away: nobody listens, nothing is stored. */
  | 'disconnect'
  /** The client's connection is to be broken: nobody is to listen, nothing is stored. */
  | 'cut'
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

/** Whether a turn that was stopped for this reason has no answer: no terminal event, and nothing is stored. */
export function isUnanswered(reason: StopReason | null): boolean {
  return reason === 'disconnect' || reason === 'cut';
}

/** Whether an error ends a turn without an answer. */
export function endsUnanswered(error: unknown): boolean {
  return error instanceof BreakConnectionError || (error instanceof TurnStoppedError && isUnanswered(error.reason));
}
