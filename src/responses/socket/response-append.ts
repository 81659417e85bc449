import { ApiError } from '../../protocol/index.js';
import { isObject } from '../../validation/index.js';
import { readFrame, requestOf } from './client-frame.js';

type Request = Readonly<Record<string, unknown>>;

/**
 * The request that a `response.append` stands for: a lane's last one with more input, for clients that repeat the
 * model's output themselves (docs/decisions/2026-11-21-protocol-choices.md). It asks the model even if that one was a warm-up. `messages` are the request
 * and what was appended to it so far. Throws ApiError 400.
 */
export function appendTo(
  messages: readonly Buffer[] | undefined,
  { input, client_metadata: metadata }: Request,
): Request {
  const [first, ...appended] = messages ?? [];
  if (first === undefined) {
    const message = "There is no request on this lane to append to. Send 'response.create' first.";
    throw ApiError.badRequest(message, 'type');
  }
  if (!Array.isArray(input)) {
    const message = "Invalid type for 'input': expected an array of input items.";
    throw ApiError.of('invalid_type', message, { param: 'input' });
  }
  const { prompt_cache_options: cache, client_metadata: _, ...request } = requestOf(readFrame(first, false));
  const before = appended.flatMap((message) => requestOf(readFrame(message, false)).input as readonly unknown[]);
  return {
    ...request,
    // What a turn says of itself is no setting of the lane.
    ...(metadata === undefined ? {} : { client_metadata: metadata }),
    ...(isObject(cache) ? { prompt_cache_options: { ...cache, prewarm: false } } : {}),
    generate: true,
    input: [...toItems(request.input), ...before, ...(input as readonly unknown[])],
  };
}

function toItems(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return (input ?? []) as readonly unknown[];
}
