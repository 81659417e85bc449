import { Logger } from '@nestjs/common';

import type { Caller } from '../../access/index.js';
import { ApiError } from '../../protocol/index.js';

const logger = new Logger('Socket');

/** Logs an internal error and returns the error for the client. */
export function unexpectedError(error: unknown, { requestId, connectionId }: Caller): ApiError {
  logger.error(`request ${requestId} on ${connectionId} failed`, error);
  return ApiError.unexpected(requestId, error);
}
