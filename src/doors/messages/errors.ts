import type { ErrorType } from '@anthropic-ai/sdk/resources/shared';

import type { ErrorForm } from '../../http/index.js';
import type { ApiError } from '../../protocol/index.js';

/** Anthropic's status of a server that has too much to do. */
const OVERLOADED = 529;

/** The body of an error. The types of the SDK leave one type out. */
interface MessagesErrorBody {
  readonly type: 'error';
  readonly error: {
    readonly type: ErrorType | 'request_too_large';
    readonly message: string;
    readonly details?: object;
  };
  readonly request_id: string;
}

const TYPE_OF_STATUS: ReadonlyMap<number, MessagesErrorBody['error']['type']> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [OVERLOADED, 'overloaded_error'],
]);

/** An error as Anthropic words it. */
export const anthropicForm: ErrorForm = (error, { id: requestId }) => {
  const status = statusOf(error.code, error.status);
  const body = toBody(status, messageOf(error), requestId, isAboutThread(error) ? NO_THREADS : undefined);
  return { status, body, headers: { 'request-id': requestId } };
};

/** Helpers of the SDKs begin a thread unasked; when they read this, they go on without one. */
const NO_THREADS = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };

function isAboutThread({ code, param }: ApiError): boolean {
  return code === 'unsupported_parameter' && param === 'thread';
}

/** The message, which is all that tells the parameter at fault. */
function messageOf({ param, message }: ApiError): string {
  return param === null || message.includes(param) ? message : `${param}: ${message}`;
}

/** The error of a response that has failed in the middle of its stream. */
export function toStreamError({ code, status, message }: ApiError, requestId: string): MessagesErrorBody {
  return toBody(statusOf(code, status), message, requestId);
}

function toBody(status: number, message: string, requestId: string, details?: object): MessagesErrorBody {
  const type = TYPE_OF_STATUS.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  const error = { type, message, ...(details === undefined ? {} : { details }) };
  return { type: 'error', error, request_id: requestId };
}

function statusOf(code: string | null, status: number): number {
  return code === 'server_is_overloaded' ? OVERLOADED : status;
}
