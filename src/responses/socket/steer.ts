import { ERROR_CODES } from '../../protocol/index.js';
import type { ClientFrame } from './client-frame.js';

const CODE = 'steering_not_supported';

/** The answer to `response.steer`: steering is not supported (protocol §6.8). */
export function answerSteer(frame: ClientFrame): string {
  const { previous_response_id, input } = frame;
  const { type } = ERROR_CODES[CODE];
  const message = 'Steering is not supported by this server. Send a new response.create when the response is complete.';
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    error: { type, code: CODE, message },
    steer: { previous_response_id: previous_response_id ?? null, input: input ?? null },
  });
}

/**
 * The answer to Codex's `response.interrupt`: the response continues. After an error frame, Codex would close the
 * connection and lose the turn.
 */
export function answerInterrupt(frame: ClientFrame): string {
  const { response_id } = frame;
  const { type } = ERROR_CODES[CODE];
  const error = { type, code: CODE, message: 'Responses cannot be interrupted on this server.' };
  return JSON.stringify({ type: 'response.interrupt.failed', response_id: response_id ?? null, error });
}
