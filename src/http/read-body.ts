import { isUtf8 } from 'node:buffer';

import compress from '@fastify/compress';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';

import type { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { WRONG_MEDIA_TYPE } from './to-api-error.js';

const ENCODINGS = ['zstd', 'br', 'gzip', 'deflate'] as const;

/** Enables JSON bodies, compressed or not; the size limit applies before and after decompression. */
export async function readJsonBodies(app: NestFastifyApplication, environment: Environment): Promise<void> {
  const fastify = app.getHttpAdapter().getInstance();
  fastify.addHook('onRequest', (request, _reply, done) => {
    normalizeEncoding(request);
    done();
  });
  await app.register(compress, {
    globalCompression: false,
    requestEncodings: [...ENCODINGS],
    onUnsupportedRequestEncoding: (encoding: string) =>
      ApiError.of(
        'unsupported_content_encoding',
        `Unsupported content encoding '${encoding.slice(0, 40)}'. Supported are: ${ENCODINGS.join(', ')}.`,
      ),
    // The plugin copies these members onto the error of the decompressor.
    onInvalidRequestPayload: (encoding: string) =>
      Object.assign(new Error(), { statusCode: 400, message: `The request body is not valid ${encoding}.` }),
  });
  const bodyLimit = environment.BODY_LIMIT_BYTES;
  fastify.removeContentTypeParser('text/plain');
  app.useBodyParser('application/json', { bodyLimit }, parseJson);
  // Nest accepts forms by default.
  app.useBodyParser('application/x-www-form-urlencoded', { bodyLimit }, refuseMediaType);
}

/** Codings are case-insensitive, and `identity` is none (RFC 9110 section 8.4.1). */
function normalizeEncoding({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') delete headers['content-encoding'];
  else if (encoding !== undefined) headers['content-encoding'] = encoding;
}

type Done = (error: Error | null, body?: unknown) => void;

function parseJson(request: FastifyRequest, body: Buffer, done: Done): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    refuseMediaType(request, body, done);
    return;
  }
  if (body.length === 0) {
    done(null, undefined);
    return;
  }
  if (!isUtf8(body)) {
    // Lenient decoding would change the data.
    done(ApiError.of('invalid_json', 'We could not parse the JSON body of your request: it is not valid UTF-8.'));
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    const detail = error instanceof Error ? error.message.slice(0, 200) : '';
    done(ApiError.of('invalid_json', `We could not parse the JSON body of your request: ${detail}`));
    return;
  }
  done(null, value);
}

function refuseMediaType(_request: FastifyRequest, _body: Buffer, done: Done): void {
  done(ApiError.of('unsupported_media_type', WRONG_MEDIA_TYPE));
}
