import { HttpException, NotFoundException } from '@nestjs/common';

import { ApiError, type ErrorCode } from '../protocol/index.js';
import { StateError } from '../state/index.js';
import type { ApiRoutes } from './api-routes.js';
import { unknownRoute } from './unknown-route.js';

/** The request members used in error messages. */
export interface RefusedRequest {
  readonly method: string;
  readonly url: string;
  readonly id: string;
}

const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [400, 'invalid_value'],
  [408, 'request_timeout'],
  [413, 'request_too_large'],
  [415, 'unsupported_media_type'],
  [429, 'rate_limit_exceeded'],
  [503, 'service_unavailable'],
]);

/** The message for bodies that are not JSON. */
export const WRONG_MEDIA_TYPE = "Unsupported content type. Send UTF-8 JSON with 'content-type: application/json'.";

/** The message for bodies above BODY_LIMIT_BYTES. */
export const BODY_TOO_LARGE = 'The request body is larger than this server accepts.';

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  request_too_large: BODY_TOO_LARGE,
  unsupported_media_type: WRONG_MEDIA_TYPE,
};

/**
 * Converts a thrown value to an error that is safe for clients. An ApiError is unchanged; errors of Nest and Fastify
 * get the code of their status; everything else becomes a `server_error` that contains only the request id.
 */
export function toApiError(thrown: unknown, requestId: string): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof StateError) return thrown.toApiError();
  const status = statusOf(thrown);
  const code = CODE_OF_STATUS.get(status);
  if (code !== undefined) return ApiError.of(code, MESSAGES[code] ?? messageOf(thrown), { cause: thrown });
  // Guards and pipes of the embedding program word their own refusals.
  if (thrown instanceof HttpException && status < 500) {
    return new ApiError(status, 'invalid_request_error', null, null, thrown.message, {}, thrown);
  }
  return ApiError.unexpected(requestId, thrown);
}

/** The same for an HTTP request, including unknown routes. */
export function toHttpError(thrown: unknown, request: RefusedRequest, routes: ApiRoutes): ApiError {
  return isUnknownRoute(thrown) ? unknownRoute(request, routes) : toApiError(thrown, request.id);
}

/** Recognises the messages of the router: a guard of the embedding program may throw NotFoundException too. */
function isUnknownRoute(thrown: unknown): boolean {
  return thrown instanceof NotFoundException && /^(?:Cannot |Not Found$)/.test(thrown.message);
}

/** Fastify, its plugins and Node's streams put a `statusCode` on what they throw. */
function statusOf(thrown: unknown): number {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const status = hasMember(thrown, 'statusCode') ? thrown.statusCode : undefined;
  return typeof status === 'number' ? status : 500;
}

function messageOf(thrown: unknown): string {
  return hasMember(thrown, 'message') ? String(thrown.message) : 'The request could not be read.';
}

function hasMember<K extends string>(thrown: unknown, member: K): thrown is Readonly<Record<K, unknown>> {
  return typeof thrown === 'object' && thrown !== null && member in thrown;
}
