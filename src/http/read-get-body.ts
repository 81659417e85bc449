import type { FastifyRequest } from 'fastify';

import { type JsonReader, SMALL_BYTES } from './bodies/index.js';
import { ApiError } from '../protocol/index.js';
import { type Query, requireObject } from '../validation/index.js';
import { BODY_TOO_LARGE } from './to-api-error.js';

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
