import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import { isTokenCount } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';
import type { Embeddings, EmbeddingRequest } from '../embedding.js';
import type { ModelError } from '../model-error.js';
import { reasonOf } from '../scrub.js';
import { readFailure } from '../upstream-errors/error-body.js';
import { readRetryAfter } from '../upstream-errors/retry-after.js';
import { toModelError } from '../upstream-errors/to-model-error.js';
import { refuseCompression, toExchangeError } from './exchange-error.js';
import { readText } from './read-text.js';
import type { UpstreamClient } from './upstream-client.js';

/** Bytes of an answer: 2048 vectors of 3072 numbers in Base64 have 34 MB, as lists three times as many. */
const LONGEST_ANSWER = 128 * 1024 * 1024;

/** The server of an EmbeddingRoute. */
export interface EmbeddingServer {
  /** Name of the provider, for the log. */
  readonly name: string;
  /** Values to redact from errors. */
  readonly secrets: readonly string[];
}

/** `POST /embeddings` of an upstream. */
export class EmbeddingRoute {
  private readonly outages = new OutageLog(new Logger('Upstream'));

  constructor(
    private readonly client: UpstreamClient,
    private readonly clock: Clock,
    private readonly server: EmbeddingServer,
  ) {}

  /** Asks once for the vectors of inputs. Rejects with ModelError, and with the reason of the signal. */
  async ask(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings> {
    try {
      return await this.request(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      const explained = toExchangeError(error);
      if (explained.retry !== 'nowhere') this.warn(explained);
      throw explained;
    }
  }

  private async request(
    { model, inputs, dimensions, user }: EmbeddingRequest,
    signal: AbortSignal,
  ): Promise<Embeddings> {
    // Servers that do not know Base64 send lists, which are read as well.
    const body = { model, input: inputs, encoding_format: 'base64', dimensions, user };
    const answer = await this.client.post('/embeddings', JSON.stringify(body), signal);
    const { status, headers } = answer;
    const isAnswer = status >= 200 && status <= 299;
    if (isAnswer) refuseCompression(answer);
    const text = isAnswer ? await readText(answer, LONGEST_ANSWER) : await readText(answer);
    if (isAnswer) return readEmbeddings(text, inputs.length);
    const retryAfterMs = readRetryAfter(headers, this.clock.now());
    throw toModelError(status, readFailure(text), { secrets: this.server.secrets, retryAfterMs });
  }

  private warn({ cause, message }: ModelError): void {
    const reason = cause === undefined ? message : reasonOf(cause, this.server.secrets);
    this.outages.warn('an upstream gave no embeddings', `'${this.server.name}': ${reason}`);
  }
}

/** Throws an Error for an answer without a vector for each of `count` inputs. */
function readEmbeddings(text: string, count: number): Embeddings {
  const body = parseJson(text);
  const { data, usage } = isObject(body) ? body : {};
  const vectors: Float32Array[] = [];
  for (const [position, { index = position, embedding }] of objectsIn(data).entries()) {
    const vector = readVector(embedding);
    if (vector !== null && Number.isInteger(index)) vectors[index as number] = vector;
  }
  const length = vectors[0]?.length;
  const isWhole = Array.from({ length: count }, (_, index) => vectors[index]).every(
    (vector) => vector !== undefined && vector.length === length,
  );
  if (!isWhole || vectors.length !== count) throw new Error('the answer lacks embeddings');
  const { prompt_tokens: tokens } = isObject(usage) ? usage : {};
  return { vectors, tokens: isTokenCount(tokens) ? tokens : 0 };
}

/** A vector of numbers, or of little-endian floats in Base64; null for anything else. */
function readVector(embedding: unknown): Float32Array | null {
  const vector = typeof embedding === 'string' ? fromBase64(embedding) : fromNumbers(embedding);
  // Looked at last: 1e39 is a number, and no float.
  return vector !== null && vector.length > 0 && vector.every(Number.isFinite) ? vector : null;
}

function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length % 4 !== 0) return null;
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

function fromNumbers(value: unknown): Float32Array | null {
  return Array.isArray(value) && value.every(Number.isFinite) ? Float32Array.from(value as number[]) : null;
}
