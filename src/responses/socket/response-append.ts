import type { JsonReader } from '../../http/bodies/index.js';
import { ApiError } from '../../protocol/index.js';
import { isObject } from '../../validation/index.js';
import { readFrame, requestOf } from './client-frame.js';

type Request = Readonly<Record<string, unknown>>;

/**
 * The request of a `response.append`: the lane's last request with more input, for clients that resend the model's
 * output themselves (docs/decisions/2026-11-21-protocol-choices.md). It always generates, even after a warm-up. `messages` are the request and what
 * was appended so far, and bounded together. Throws ApiError 400.
 */
export async function appendTo(
  messages: readonly Buffer[] | undefined,
  { input, client_metadata: metadata }: Request,
  reader: JsonReader,
): Promise<Request> {
  const [first, ...appended] = messages ?? [];
  if (first === undefined) {
    const message = "This lane has no request to append to. Send 'response.create' first.";
    throw ApiError.badRequest(message, 'type');
  }
  if (!Array.isArray(input)) {
    const message = "Invalid type for 'input': expected an array of input items.";
    throw ApiError.of('invalid_type', message, { param: 'input' });
  }
  const {
    prompt_cache_options: cache,
    client_metadata: _,
    ...request
  } = requestOf(await readFrame(first, false, reader));
  const before: unknown[] = [];
  for (const message of appended) {
    for (const item of requestOf(await readFrame(message, false, reader)).input as readonly unknown[])
      before.push(item);
  }
  return {
    ...request,
    // `client_metadata` applies to one turn only.
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
