import { BreakConnectionError } from '../../providers/index.js';

/** Why a running turn was stopped; it decides how the response ends. */
export type StopReason =
  /** The client disconnected: nothing is stored. */
  | 'disconnect'
  /** The provider breaks the client's connection; nothing is stored. */
  | 'cut'
  /** The model was silent for too long. */
  | 'timeout'
  /** The turn took longer than MAX_TURN_MS. */
  | 'time_limit'
  /** The process is shutting down and the grace period of the turn is over. */
  | 'drain'
  /** The connection has expired and the grace period of the turn is over. */
  | 'expiry'
  /** A background response was cancelled or deleted. */
  | 'cancel'
  /** The process is shutting down: another one goes on with the background turn. */
  | 'hand_over'
  /** Another process goes on with the background turn already. */
  | 'lost'
  /** Another turn took over the session or conversation, because its lock could not be renewed. */
  | 'lock_lost'
  /** The turn is over without the model's own end, or its client has ended the response early; remaining work is stopped. */
  | 'over';

/** Why a client ends its response before the model does, as `incomplete_details.reason` shows it (protocol §6.8). */
export type EarlyEnd = 'steered' | 'interrupted';

const UNANSWERED: ReadonlySet<StopReason> = new Set(['disconnect', 'cut', 'cancel', 'hand_over', 'lost']);

/** Thrown in a stopped turn, and the reason of its abort signal. */
export class TurnStoppedError extends Error {
  override readonly name = 'TurnStoppedError';

  constructor(readonly reason: StopReason) {
    super(`the turn was stopped: ${reason}`);
  }
}

/** Whether a turn that was stopped for this reason has no answer: no terminal event, and nothing is stored. */
export function isUnanswered(reason: StopReason | null): boolean {
  return reason !== null && UNANSWERED.has(reason);
}

/**
 * Whether an error ends a turn without an answer. A turn in the background has no connection that its provider could
 * break.
 */
export function endsUnanswered(error: unknown, inBackground: boolean): boolean {
  if (error instanceof BreakConnectionError) return !inBackground;
  return error instanceof TurnStoppedError && isUnanswered(error.reason);
}
