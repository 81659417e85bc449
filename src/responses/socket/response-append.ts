import type { JsonReader } from '../../http/bodies/index.js';
import { ApiError } from '../../protocol/index.js';
import { isObject, membersOf } from '../../validation/index.js';
import { CreateEventBody } from '../dto/index.js';
import { readFrame, requestOf } from './client-frame.js';

type Request = Readonly<Record<string, unknown>>;

const MEMBERS = membersOf(CreateEventBody);

/**
 * The request of a `response.append`: the lane's last request with more input, for clients that resend the model's
 * output themselves (docs/decisions/2026-11-21-protocol-choices.md). It always generates, even after a warm-up. `messages` are the request and what
 * was appended so far, and bounded together. Throws ApiError 400, also for other members that would change the request; those that no request has
 * are left to the validation.
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
  if (!Array.isArray(input)) {
    const message = "Invalid type for 'input': expected an array of input items.";
    throw ApiError.of('invalid_type', message, { param: 'input' });
  }
  const {
    prompt_cache_options: cache,
    client_metadata: _,
    ...request
  } = requestOf(await readFrame(first, false, reader));
  refuseChanges(others, request);
  const before: unknown[] = [];
  for (const message of appended) {
    for (const item of requestOf(await readFrame(message, false, reader)).input as readonly unknown[])
      before.push(item);
  }
  return {
    ...others,
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

function refuseChanges(others: Request, request: Request): void {
  const isChange = (name: string): boolean =>
    others[name] != null && JSON.stringify(others[name]) !== JSON.stringify(request[name]);
  const changed = Object.keys(others).find((name) => MEMBERS.has(name) && isChange(name));
  if (changed === undefined) return;
  const message = `Unsupported parameter: '${changed}'. 'response.append' adds 'input' to the last request of its lane, and changes nothing else of it.`;
  throw ApiError.of('unsupported_parameter', `${message} Send 'response.create'.`, { param: changed });
}
