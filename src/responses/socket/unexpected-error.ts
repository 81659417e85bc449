import { Logger } from '@nestjs/common';

import type { Caller } from '../../access/index.js';
import { ApiError } from '../../protocol/index.js';

const logger = new Logger('Socket');

/** Logs a fault of ours, and gives what the client gets to hear of it. */
export function unexpectedError(error: unknown, { requestId, connectionId }: Caller): ApiError {
  logger.error(`request ${requestId} on ${connectionId} failed`, error);
  return ApiError.unexpected(requestId, error);
}
