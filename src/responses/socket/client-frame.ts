import { isUtf8 } from 'node:buffer';

import { ApiError } from '../../protocol/index.js';
import { clip, isObject, kindOf, wrongType } from '../../validation/index.js';

/** A message of a client: a JSON object, not validated. */
export type ClientFrame = Readonly<Record<string, unknown>>;

const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/** Reads a message as JSON. Throws ApiError 400 `invalid_json`, or `invalid_type` for JSON other than an object. */
export function readFrame(data: Buffer, isBinary: boolean): ClientFrame {
  if (isBinary) throw invalidJson('it must be a text message, not a binary one.');
  if (!isUtf8(data)) throw invalidJson('it is not valid UTF-8.');
  let frame: unknown;
  try {
    frame = JSON.parse(data.toString('utf8'));
  } catch (error) {
    throw invalidJson(String((error as { readonly message?: unknown }).message).slice(0, 200));
  }
  if (isObject(frame)) return frame;
  const kind = frame === null ? 'null' : kindOf(frame);
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
 * always streams and never runs in the background. Throws ApiError 400.
 */
export function requestOf(frame: ClientFrame): Readonly<Record<string, unknown>> {
  const { response, ...flat } = frame;
  if (response == null) return withoutEnvelope(flat);
  if (!isObject(response)) throw wrongType('an object', response).under('response').toError();
  return withoutEnvelope({ ...flat, ...response });
}

/** The error for an event type that clients cannot send. */
export function refuseEventType(type: unknown): ApiError {
  const named = typeof type === 'string' ? `Unknown event type: '${clip(type)}'` : 'The event has no type';
  return ApiError.of('unknown_event_type', `${named}. Expected 'response.create'.`, {
    param: 'type',
  });
}

function withoutEnvelope(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { type: _type, stream_id: _streamId, stream: _stream, background: _background, ...request } = members;
  return request;
}

function invalidJson(why: string): ApiError {
  return ApiError.of('invalid_json', `We could not parse the JSON of your message: ${why}`);
}
