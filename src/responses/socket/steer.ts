import { ERROR_CODES } from '../../protocol/index.js';
import { requireReadableBody } from '../dto/index.js';
import type { ClientFrame } from './client-frame.js';

const CODE = 'steering_not_supported';

/** The answer to `response.steer` as long as no model here can be steered (protocol §6.8). Throws ApiError 400. */
export function answerSteer(frame: ClientFrame): string {
  const { previous_response_id, input } = requireReadableBody(frame);
  const { type } = ERROR_CODES[CODE];
  const message = 'Steering is not supported by this server. Send a new response.create when the response is complete.';
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    error: { type, code: CODE, message },
    steer: { previous_response_id: previous_response_id ?? null, input: input ?? null },
  });
}
