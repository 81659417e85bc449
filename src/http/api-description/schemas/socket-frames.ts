import type { JsonSchema } from '../../../validation/index.js';
import { INTEGER, listOf, nullable, object, oneOf, ref, SECONDS, TEXT } from './shape.js';

const HEADERS: JsonSchema = { type: 'object', additionalProperties: TEXT };
const LANE = { stream_id: TEXT };
const FAULT = object({ type: TEXT, code: ref('ErrorCode'), message: TEXT });
const STEER = object({ id: TEXT, previous_response_id: TEXT });

/** What sockets send besides the events of responses, by type (protocol §6.3, §6.8, §6.10). */
export const SOCKET_FRAMES: Readonly<Record<string, JsonSchema>> = {
  error: object(
    {
      type: oneOf('error'),
      status: { ...INTEGER, description: 'The status that HTTP would have.' },
      error: object(
        { type: TEXT, code: nullable(ref('ErrorCode')), message: TEXT, param: nullable(TEXT) },
        { headers: HEADERS },
      ),
    },
    { ...LANE, headers: HEADERS },
  ),
  keepalive: object({ type: oneOf('keepalive') }, LANE),
  'response.metadata': object({ type: oneOf('response.metadata'), headers: HEADERS }, LANE),
  connection_expiring: object({
    type: oneOf('connection_expiring'),
    code: oneOf('connection_expiring'),
    message: TEXT,
    expires_at: SECONDS,
  }),
  'response.steer.accepted': object(
    { type: oneOf('response.steer.accepted'), sequence_number: INTEGER, steer: STEER },
    LANE,
  ),
  'response.steer.pending': object(
    {
      type: oneOf('response.steer.pending'),
      sequence_number: INTEGER,
      reason: oneOf('waiting_for_required_input'),
      required_input: listOf(object({ type: TEXT })),
      steer: STEER,
    },
    LANE,
  ),
  'response.steer.failed': object(
    {
      type: oneOf('response.steer.failed'),
      sequence_number: INTEGER,
      error: FAULT,
      steer: object({ previous_response_id: {}, input: {} }, { id: TEXT }),
    },
    LANE,
  ),
  'response.interrupt.accepted': object({ type: oneOf('response.interrupt.accepted'), response_id: TEXT }, LANE),
  'response.interrupt.failed': object(
    { type: oneOf('response.interrupt.failed'), response_id: {}, error: FAULT },
    LANE,
  ),
};
