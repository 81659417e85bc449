import type { ErrorCode } from '../../protocol/index.js';

/** The codes of a turn that is refused, for the API description. */
export const TURN_ERRORS: readonly ErrorCode[] = [
  'previous_response_not_found',
  'conversation_locked',
  'context_length_exceeded',
  'model_not_found',
  'model_not_allowed',
  'model_unavailable',
  'session_locked',
  'session_limit_reached',
  'unsupported_parameter',
  'unsupported_value',
  'invalid_id_prefix',
  'invalid_encrypted_content',
  'decimal_above_max_value',
  'decimal_below_min_value',
  'invalid_function_parameters',
  'invalid_json_schema',
  'turn_time_limit_exceeded',
  'server_is_overloaded',
];
