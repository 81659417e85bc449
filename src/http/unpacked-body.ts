import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
// As a whole: old versions of Node, which lack some of it, are to be told so.
import zlib from 'node:zlib';

import type { BodyBudget, BodyShare } from './bodies/index.js';
import { ApiError } from '../protocol/index.js';
import { BODY_TOO_LARGE } from './to-api-error.js';

/** The largest window that a body may ask for: 8 MiB (RFC 9659). */
const ZSTD_WINDOW = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };

/** Shorter chunks are put together. */
const JOINED_BYTES = 16 * 1024;

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['zstd', () => zlib.createZstdDecompress(ZSTD_WINDOW)],
  ['br', () => zlib.createBrotliDecompress()],
  ['gzip', () => zlib.createGunzip()],
  ['deflate', () => zlib.createInflate()],
]);

/** The limits of a body. */
export interface BodyLimits {
  readonly budget: BodyBudget;
  /** Bytes, both as sent and unpacked. */
  readonly maxBytes: number;
}

/**
 * A request body as it arrives, unpacked and counted. Fails with ApiError 400 for invalid compression, 413 above its
 * limit and 503 beyond the budget; it is then no longer unpacked, and the rest of the request is discarded.
 */
export class UnpackedBody extends Transform {
  /** Bytes as sent: Fastify compares them with `content-length`. */
  receivedEncodedLength = 0;
  readonly share: BodyShare;
  private unpackedBytes = 0;
  /** Short chunks, put together: each of them would take a hundred times its size. */
  private joined: Buffer | null = null;
  private joinedLength = 0;
  private readonly decoder: Transform | null;

  /** Throws ApiError 415 for an unknown encoding. */
  constructor(
    private readonly request: IncomingMessage,
    private readonly limits: BodyLimits,
  ) {
    super();
    this.decoder = createDecoder(request);
    this.share = limits.budget.open((error) => this.destroy(error));
    // An error without a listener would end the process, and the body of a refused request has none.
    this.on('error', () => undefined);
    request.on('data', this.onReceived);
    request.once('error', (error) => this.destroy(error));
    request.once('close', () => {
      if (!request.readableEnded) this.destroy();
    });
    if (this.decoder === null) {
      request.pipe(this);
    } else {
      const encoding = request.headers['content-encoding'] ?? '';
      const window = encoding === 'zstd' ? ', or asks for a window of more than 8 MiB' : '';
      const invalid = `The request body is not valid ${encoding}${window}.`;
      this.decoder.once('error', () => this.destroy(ApiError.of('invalid_value', invalid)));
      request.pipe(this.decoder).pipe(this);
    }
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.unpackedBytes += chunk.length;
    if (this.unpackedBytes > this.limits.maxBytes) {
      done(tooLarge());
      return;
    }
    this.share.hold(this.unpackedBytes);
    if (chunk.length >= JOINED_BYTES) {
      this.pushJoined();
      done(null, chunk);
      return;
    }
    if (this.joinedLength + chunk.length > JOINED_BYTES) this.pushJoined();
    this.joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES);
    this.joinedLength += chunk.copy(this.joined, this.joinedLength);
    done();
  }

  override _flush(done: TransformCallback): void {
    this.share.complete();
    this.pushJoined();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.request.off('data', this.onReceived);
    this.request.unpipe();
    // Discards the rest: the next request comes on the same connection.
    this.request.resume();
    this.decoder?.destroy();
    if (!this.writableFinished) this.share.release();
    done(error);
  }

  private pushJoined(): void {
    if (this.joined !== null) this.push(this.joined.subarray(0, this.joinedLength));
    this.joined = null;
    this.joinedLength = 0;
  }

  private readonly onReceived = (chunk: Buffer): void => {
    this.receivedEncodedLength += chunk.length;
    if (this.receivedEncodedLength > this.limits.maxBytes) this.destroy(tooLarge());
  };
}

function createDecoder({ headers }: IncomingMessage): Transform | null {
  const encoding = headers['content-encoding'];
  if (encoding === undefined) return null;
  const create = DECODERS.get(encoding);
  if (create !== undefined) return create();
  const supported = [...DECODERS.keys()].join(', ');
  const message = `Unsupported content encoding '${encoding.slice(0, 40)}'. Supported are: ${supported}.`;
  throw ApiError.of('unsupported_content_encoding', message);
}

function tooLarge(): ApiError {
  return ApiError.of('request_too_large', BODY_TOO_LARGE);
}
