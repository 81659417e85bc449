/** Why a running turn was stopped from outside; it decides how the response ends. */
export type StopReason =
  /** The client went away: nobody listens, nothing is stored. */
  | 'disconnect'
  /** The model said nothing for too long. */
  | 'timeout'
  /** The process is shutting down and the turn outlived its grace. */
  | 'drain';

/** Thrown inside a turn that was stopped. */
export class TurnStoppedError extends Error {
  override readonly name = 'TurnStoppedError';

  constructor(readonly reason: StopReason) {
    super(`the turn was stopped: ${reason}`);
  }
}
