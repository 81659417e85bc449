import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import { isTokenCount } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { isObject, listIn, parseJson } from '../../validation/index.js';
import type { Embeddings, EmbeddingRequest } from '../embedding.js';
import { ModelError } from '../model-error.js';
import { reasonOf } from '../scrub.js';
import { describeFailure, isFailure, readFailure, type UpstreamFailure } from '../upstream-errors/error-body.js';
import { readRetryAfter } from '../upstream-errors/retry-after.js';
import { isTooLong, toModelError } from '../upstream-errors/to-model-error.js';
import { formOf, IS_PAGE } from './body-form.js';
import { notUnderstood, refuseCompression, toExchangeError } from './exchange-error.js';
import { readText } from './read-text.js';
import type { UpstreamClient } from './upstream-client.js';

/** Bytes of an answer: 2048 vectors of 3072 numbers in Base64 have 34 MB, as lists three times as many. */
const LONGEST_ANSWER = 128 * 1024 * 1024;

/** Refusals of too many inputs in one request. */
const TOO_MANY =
  /\bbatch(?:es)?\b|too many (?:inputs|texts|items|documents)|number of (?:inputs|texts)|tokens per request/i;

/** Refusals of Base64. */
const ENCODING = /encoding_format|base64/i;

/** What a server takes in one request for the vectors of a model. */
interface Limits {
  /** Inputs. */
  readonly most: number;
  /** Whether the name of an encoding: some refuse Base64, and some every name. */
  readonly takesEncoding: boolean;
}

const WITHOUT_LIMITS: Limits = { most: Infinity, takesEncoding: true };

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
  /** By model, as far as a request has failed for them and another that keeps to them has not. */
  private readonly limits = new Map<string, Limits>();

  constructor(
    private readonly client: UpstreamClient,
    private readonly clock: Clock,
    private readonly server: EmbeddingServer,
  ) {}

  /**
   * Asks once for the vectors of inputs, in parts where the server takes fewer at once. Rejects with ModelError, and with the reason of the
   * signal.
   */
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

  /** `given`: limits of this request. */
  private async request(request: EmbeddingRequest, signal: AbortSignal, given = WITHOUT_LIMITS): Promise<Embeddings> {
    const { model, inputs, dimensions, user } = request;
    const limits = narrow(this.limitsOf(model), given);
    if (inputs.length > limits.most) return this.inParts(request, signal, limits);
    // Servers that do not know Base64 send lists, which are read as well.
    const encoding = limits.takesEncoding ? { encoding_format: 'base64' } : {};
    const body = { model, input: inputs, ...encoding, dimensions, user };
    const answer = await this.client.post('/embeddings', JSON.stringify(body), signal);
    const { status, headers } = answer;
    const isAnswer = status >= 200 && status <= 299;
    if (isAnswer) refuseCompression(answer);
    const text = isAnswer ? await readText(answer, LONGEST_ANSWER) : await readText(answer);
    const vectors = isAnswer ? parseJson(text) : undefined;
    const failure = isAnswer ? failureIn(vectors) : readFailure(text);
    if (failure === undefined) return readEmbeddings(vectors, text, request);
    const stated = isAnswer ? (failure.status ?? 500) : status;
    const refused = limitIn(stated, failure, inputs.length, limits);
    if (refused !== undefined) {
      const embeddings = await this.request(request, signal, narrow(limits, refused));
      // Now it is certain. A limit of tokens depends on the inputs.
      if (refused.most === undefined || !/token/i.test(failure.message)) {
        this.limits.set(model, narrow(this.limitsOf(model), refused));
      }
      return embeddings;
    }
    const retryAfterMs = readRetryAfter(headers, this.clock.now());
    throw toModelError(stated, failure, { secrets: this.server.secrets, retryAfterMs });
  }

  /** The vectors of inputs that are asked for one part after another. */
  private async inParts(request: EmbeddingRequest, signal: AbortSignal, limits: Limits): Promise<Embeddings> {
    const vectors: Float32Array[] = [];
    let tokens = 0;
    for (let from = 0; from < request.inputs.length; from += limits.most) {
      const inputs = request.inputs.slice(from, from + limits.most);
      const part = await this.request({ ...request, inputs }, signal, limits);
      vectors.push(...part.vectors);
      tokens += part.tokens;
    }
    return { vectors, tokens };
  }

  private limitsOf(model: string): Limits {
    return this.limits.get(model) ?? WITHOUT_LIMITS;
  }

  private warn({ cause, message }: ModelError): void {
    const reason = cause === undefined ? message : reasonOf(cause, this.server.secrets);
    this.outages.warn('an upstream gave no embeddings', `'${this.server.name}': ${reason}`);
  }
}

function narrow(limits: Limits, { most = Infinity, takesEncoding = true }: Partial<Limits>): Limits {
  return { most: Math.min(limits.most, most), takesEncoding: limits.takesEncoding && takesEncoding };
}

/** The limit for which a server has probably refused a request with so many inputs; undefined for other failures. */
function limitIn(status: number, failure: UpstreamFailure, count: number, limits: Limits): Partial<Limits> | undefined {
  if (![400, 413, 422].includes(status)) return undefined;
  const { message } = failure;
  if (limits.takesEncoding && ENCODING.test(message)) return { takesEncoding: false };
  const isTooMany = TOO_MANY.test(message) || (status === 413 && !isTooLong(status, failure));
  return isTooMany && count > 1 ? { most: Math.ceil(count / 2) } : undefined;
}

/** The failure that an answer with a status of success has in place of vectors. */
function failureIn(body: unknown): UpstreamFailure | undefined {
  return isObject(body) && body.data == null && isFailure(body.error) ? describeFailure(body) : undefined;
}

/**
 * Reads an answer, whose text is for the failure. Throws ModelError for one without a vector for each input, and for one whose vectors are not
 * as long as was asked for.
 */
function readEmbeddings(
  body: unknown,
  text: string,
  { inputs: { length: count }, dimensions }: EmbeddingRequest,
): Embeddings {
  if (!isObject(body))
    throw formOf(Buffer.from(text)) === 'page' ? notUnderstood('a web page', IS_PAGE) : notUnderstood('no JSON object');
  const { data, usage } = body;
  const entries = listIn(data).map((entry) => (isObject(entry) ? entry : {}));
  if (entries.length !== count) throw notUnderstood(`${entries.length} vectors for ${count} inputs`);
  const places = entries.map(({ index }) => index);
  // Some servers number no vector, or all with 0: they are in the order of the inputs.
  const isNumbered = new Set(places).size === count && places.every((place) => isPlace(place, count));
  const vectors: Float32Array[] = [];
  for (const [position, { embedding }] of entries.entries()) {
    const vector = readVector(embedding);
    if (vector === null) throw notUnderstood('a vector that is empty or has a value that is not a number');
    vectors[isNumbered ? (places[position] as number) : position] = vector;
  }
  const [first] = vectors;
  const length = first?.length ?? 0;
  if (vectors.some((vector) => vector.length !== length)) throw notUnderstood('vectors of different lengths');
  if (dimensions !== undefined && dimensions !== length) {
    const message = `The model gives vectors of ${length} numbers, not of ${dimensions}.`;
    throw new ModelError('unsupported_value', message, { status: 400, param: 'dimensions', retry: 'other' });
  }
  const { prompt_tokens: tokens, total_tokens: total } = isObject(usage) ? usage : {};
  return { vectors, tokens: [tokens, total].find(isTokenCount) ?? 0 };
}

function isPlace(value: unknown, count: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < count;
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
  // llama.cpp has a list of vectors for each input.
  if (Array.isArray(value) && value.length === 1 && Array.isArray(value[0])) return fromNumbers(value[0]);
  return Array.isArray(value) && value.every(Number.isFinite) ? Float32Array.from(value as number[]) : null;
}
