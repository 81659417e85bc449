import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';

import type { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { isPromise } from '../time/index.js';
import { type Query, requireObject } from '../validation/index.js';
import { BodyBudget, JsonReader, SMALL_BYTES } from './bodies/index.js';
import { acceptForms, isForm } from './read-form.js';
import { BODY_TOO_LARGE, WRONG_MEDIA_TYPE } from './to-api-error.js';
import { UnpackedBody } from './unpacked-body.js';

type Done = (error: Error | null, body?: unknown) => void;

/**
 * Enables JSON bodies, compressed or not, and forms on the routes that take them. A body passes here from its first byte to its value: the size limit applies
 * before and after decompression, the budget of all bodies until it is parsed.
 */
export function readJsonBodies(app: NestFastifyApplication, environment: Environment): void {
  const limits = { budget: app.get(BodyBudget), maxBytes: environment.BODY_LIMIT_BYTES };
  const json = new JsonReader(environment, 'body of your request');
  const bodies = new WeakMap<IncomingMessage, UnpackedBody>();
  const fastify = app.getHttpAdapter().getInstance();

  fastify.addHook('preParsing', (request, reply, payload, done) => {
    normalizeEncoding(request);
    if (!isParsed(request) || isForm(request) || isSmall(request) || payload !== request.raw) {
      done(null, payload);
      return;
    }
    try {
      const body = new UnpackedBody(request.raw, limits);
      bodies.set(request.raw, body);
      // The body may not have been read: its request was refused, or the client has left.
      reply.raw.once('close', () => {
        body.destroy();
        body.share.release();
      });
      done(null, body);
    } catch (error) {
      done(error as Error);
    }
  });

  fastify.addHook('onSend', (request, _reply, payload, done) => {
    discardUnread(request);
    done(null, payload);
  });

  fastify.removeContentTypeParser('text/plain');
  const options = { bodyLimit: environment.BODY_LIMIT_BYTES };
  app.useBodyParser('application/json', options, (request: FastifyRequest, bytes: Buffer, done: Done) => {
    const finish: Done = (error, body) => {
      bodies.get(request.raw)?.share.release();
      done(error, body);
    };
    try {
      requireUtf8Charset(request);
      const value = bytes.length === 0 ? undefined : json.read(bytes);
      if (isPromise(value)) value.then((read) => finish(null, read), finish);
      else finish(null, value);
    } catch (error) {
      finish(error as Error);
    }
  });
  acceptForms(fastify);
  // Nest accepts forms by default.
  app.useBodyParser('application/x-www-form-urlencoded', options, (_request, _bytes, done: Done) => {
    done(wrongMediaType());
  });
}

/**
 * Throws away the body of a request that is answered without it. Node does so once the answer is written; one that waits for those before it
 * would have a client run into the time limit that has sent everything.
 */
export function discardUnread({ raw }: FastifyRequest): void {
  if (!raw.complete && raw.readableFlowing === null) raw.resume();
}

/** Codings are case-insensitive, and `identity` is none (RFC 9110 section 8.4.1). */
function normalizeEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') delete headers['content-encoding'];
  else if (encoding !== undefined) headers['content-encoding'] = encoding;
}

/** Whether Fastify reads the body of the request. Node discards that of a GET. */
function isParsed({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'TRACE';
}

/** Whether there is no body, or one that takes nothing of the budget and is not compressed. */
function isSmall({ headers }: FastifyRequest): boolean {
  if (headers['content-encoding'] !== undefined || headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= SMALL_BYTES;
}

function requireUtf8Charset({ headers }: FastifyRequest): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw wrongMediaType();
}

function wrongMediaType(): ApiError {
  return ApiError.of('unsupported_media_type', WRONG_MEDIA_TYPE);
}

/**
 * The members of the JSON object that a GET carries, which neither Node nor Fastify reads: openai-go puts parameters of a
 * query there. Empty without such a body. Rejects with ApiError: 400 for what is no JSON object, 413 beyond 64 KiB, 415
 * for a compressed one.
 */
export async function readGetBody({ raw, headers }: FastifyRequest, reader: JsonReader): Promise<Query> {
  const isSent = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!isSent || !/^application\/json\b/i.test(headers['content-type'] ?? '')) return {};
  if (headers['content-encoding'] !== undefined) {
    throw ApiError.of('unsupported_content_encoding', 'Send the body of a GET without a content encoding.');
  }
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // The connection stays: Node discards the rest of a body that is too large.
    for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > SMALL_BYTES) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw ApiError.of('invalid_json', 'The request body ended early.', { cause });
  }
  if (length > SMALL_BYTES) throw ApiError.of('request_too_large', BODY_TOO_LARGE);
  return length === 0 ? {} : requireObject(await reader.read(Buffer.concat(chunks)));
}
