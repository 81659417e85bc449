import { HttpException, NotFoundException } from '@nestjs/common';

import { ApiError, type ErrorCode } from '../protocol/index.js';
import { StateError } from '../state/index.js';
import { pathOf } from './api-paths.js';
import type { ApiRoutes } from './api-routes.js';

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

/** How common clients are told to use the Responses API (docs/clients.md). */
const CLIENTS =
  'OpenAI SDK: client.responses.create(…). LangChain: useResponsesApi: true. AI SDK: openai.responses(…). ' +
  'Codex: wire_api = "responses".';

const METRICS = 'Metrics are at /metrics: here with METRICS=true, and on a port of their own with METRICS_PORT.';

/** Segments that clients put before a resource, or leave out, where a base URL is wrong. */
const BASES: readonly string[] = ['v1', 'openai', 'api'];

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

/** Converts what was thrown for an HTTP request, as `toApiError` does; for an unknown route, the error says what there is. */
export function toHttpError(thrown: unknown, request: RefusedRequest, routes: ApiRoutes): ApiError {
  return isUnknownRoute(thrown) ? unknownRoute(request, routes) : toApiError(thrown, request.id);
}

/** Recognises the messages of the router: a guard of the embedding program may throw NotFoundException too. */
function isUnknownRoute(thrown: unknown): boolean {
  return thrown instanceof NotFoundException && /^(?:Cannot |Not Found$)/.test(thrown.message);
}

/** The error for a request that has no route: 405 where the path has other methods, else 404. */
function unknownRoute({ method, url }: { readonly method: string; readonly url: string }, routes: ApiRoutes): ApiError {
  const path = url.replace(/[?#].*$/, '').slice(0, 200);
  const methods = routes.allowedMethods(url);
  if (methods === undefined) {
    const hint = hintFor(pathOf(url), routes);
    return ApiError.of('unknown_url', `Invalid URL (${method} ${path}).${hint === undefined ? '' : ` ${hint}`}`);
  }
  const allowed = methods.join(', ');
  const message = `Not allowed to ${method} on ${path}. Allowed: ${allowed}.`;
  return ApiError.of('method_not_supported', message, { headers: { allow: allowed } });
}

/** What a client may have meant by a path; undefined where that cannot be told. */
function hintFor(path: string, routes: ApiRoutes): string | undefined {
  const [base = '/v1/', ...others] = routes.responses.map((route) => route.slice(0, -'responses'.length));
  const ours = others.find((other) => path.startsWith(other)) ?? base;
  const known = new Set([...BASES, ...ours.split('/')]);
  const segments = path.split('/');
  const first = segments.findIndex((segment) => !known.has(segment));
  if (first === -1) return undefined;
  const resource = segments.slice(first).join('/');
  if (resource === 'metrics') return METRICS;
  if (resource === 'completions') {
    return `This server has no Completions API. It speaks the Responses API: POST ${ours}responses. ${CLIENTS}`;
  }
  return routes.knows(resource) ? `Use ${ours}${resource.slice(0, 200)}.` : undefined;
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
