import { isDeepStrictEqual } from 'node:util';

import type { JsonReader } from '../../http/bodies/index.js';
import { ApiError } from '../../protocol/index.js';
import { andThen, type MaybePromise } from '../../time/index.js';
import { clip, isObject, kindOf, wrongType } from '../../validation/index.js';

/** A message of a client: a JSON object, not validated. */
export type ClientFrame = Readonly<Record<string, unknown>>;

const BINARY = 'We could not parse the JSON of your message: it must be a text message, not a binary one.';

/** Members of an event that mean nothing in its request. */
const IGNORED: ReadonlySet<string> = new Set(['type', 'stream', 'background']);

const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/**
 * Reads a message that has arrived. Throws ApiError 400 `invalid_json` or `invalid_type`, and for JSON beyond the limits
 * 400 `invalid_value` or 413 `request_too_large`.
 */
export function readFrame(data: Buffer, isBinary: boolean, reader: JsonReader): MaybePromise<ClientFrame> {
  if (isBinary) throw ApiError.of('invalid_json', BINARY);
  const value = reader.read(data);
  return andThen(value, requireFrame);
}

function requireFrame(value: unknown): ClientFrame {
  if (isObject(value)) return value;
  const kind = value === null ? 'null' : kindOf(value);
  throw ApiError.of('invalid_type', `Invalid type for the message: expected an object, but got ${kind} instead.`);
}

/** The lane of a frame; undefined is the default lane. Throws ApiError 400 `invalid_stream_id` (protocol §6.5). */
export function streamIdOf(frame: ClientFrame): string | undefined {
  const streamId = frame.stream_id ?? (isObject(frame.response) ? frame.response.stream_id : undefined);
  if (streamId == null) return undefined;
  if (typeof streamId === 'string' && STREAM_ID.test(streamId)) return streamId;
  throw ApiError.of(
    'invalid_stream_id',
    "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, " +
      'underscores, hyphens, and periods.',
    { param: 'stream_id' },
  );
}

/**
 * The request in a `response.create`, flat or nested in `response`, without the members of the envelope: a socket
 * always streams and never runs in the background. Throws ApiError 400, also for a member with two values.
 */
export function requestOf(frame: ClientFrame): Readonly<Record<string, unknown>> {
  const { response, ...flat } = frame;
  if (response == null) return withoutEnvelope(flat);
  if (!isObject(response)) throw wrongType('an object', response).under('response').toError();
  for (const name of Object.keys(response)) {
    const isTwofold = !IGNORED.has(name) && Object.hasOwn(flat, name);
    if (!isTwofold || isDeepStrictEqual(flat[name], response[name])) continue;
    const param = `response.${clip(name)}`;
    const message = `Mutually exclusive parameters: '${clip(name)}' and '${param}'. Send the request at the top level or in 'response'.`;
    throw ApiError.of('mutually_exclusive_parameters', message, { param });
  }
  return withoutEnvelope({ ...flat, ...response });
}

/** The events of clients (protocol §6.2). */
export const CLIENT_EVENTS = [
  'response.create',
  'response.append',
  'response.steer',
  'response.interrupt',
  'response.processed',
] as const;

/** The error for an event type that clients cannot send. `others`: the events of the program. */
export function refuseEventType(type: unknown, others: readonly string[]): ApiError {
  const named = typeof type === 'string' ? `Unknown event type: '${clip(type)}'` : 'The event has no type';
  const known = [...new Set([...CLIENT_EVENTS, ...others])].map((name) => `'${name}'`);
  return ApiError.of('unknown_event_type', `${named}. Expected one of: ${known.join(', ')}.`, { param: 'type' });
}

function withoutEnvelope(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { type: _type, stream_id: _streamId, stream: _stream, background: _background, ...request } = members;
  return request;
}
