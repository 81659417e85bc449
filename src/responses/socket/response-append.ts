import { isDeepStrictEqual } from 'node:util';

import type { JsonReader } from '../../http/bodies/index.js';
import { ApiError } from '../../protocol/index.js';
import { isObject, membersOf, wrongType } from '../../validation/index.js';
import { CreateEventBody } from '../dto/index.js';
import { readFrame, requestOf } from './client-frame.js';

type Request = Readonly<Record<string, unknown>>;

const SETTINGS = membersOf(CreateEventBody);

/**
 * The request of a `response.append`: the lane's last request with more input, for clients that resend the model's
 * output themselves (docs/decisions/2026-11-21-protocol-choices.md). It always generates, even after a warm-up. `messages` are the request and what
 * was appended so far, and bounded together. Throws ApiError 400, also for settings that the request does not have.
 */
export async function appendTo(
  messages: readonly Buffer[] | undefined,
  { input, client_metadata: metadata, ...others }: Request,
  reader: JsonReader,
): Promise<Request> {
  const [first, ...appended] = messages ?? [];
  if (first === undefined) {
    const message = "This lane has no request to append to. Send 'response.create' first.";
    throw ApiError.badRequest(message, 'type');
  }
  if (!Array.isArray(input)) throw wrongType('an array of input items', input).under('input').toError();
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
  const whole = {
    ...request,
    // `client_metadata` applies to one turn only.
    ...(metadata === undefined ? {} : { client_metadata: metadata }),
    ...(isObject(cache) ? { prompt_cache_options: { ...cache, prewarm: false } } : {}),
    generate: true,
    input: [...toItems(request.input), ...before, ...(input as readonly unknown[])],
  };
  refuseOtherSettings(others, whole);
  // Those that the API does not know are for the validation of the request.
  return { ...others, ...whole };
}

/** An append has the settings of its request: others would change nothing. */
function refuseOtherSettings(others: Request, request: Request): void {
  for (const [name, value] of Object.entries(others)) {
    if (!SETTINGS.has(name) || value === null || isDeepStrictEqual(value, request[name])) continue;
    const message = `Unsupported parameter: '${name}' is not supported with 'response.append', which keeps the settings of its request. Send 'response.create' to change them.`;
    throw ApiError.of('unsupported_parameter', message, { param: name });
  }
}

function toItems(input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  return (input ?? []) as readonly unknown[];
}
