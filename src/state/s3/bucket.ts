import { addAbortSignal, type Readable } from 'node:stream';

import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ServiceException,
} from '@aws-sdk/client-s3';
import { Logger } from '@nestjs/common';
import { v7 as uuid } from 'uuid';

import type { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import { StoreUnavailableError } from '../errors.js';
import type { BucketCondition } from '../state-backend.js';

/** Which bucket it is, and how it is reached. */
export type BucketSettings = Pick<
  Environment,
  'S3_BUCKET' | 'S3_ENDPOINT' | 'S3_REGION' | 'S3_PREFIX' | 'S3_PATH_STYLE' | 'S3_TIMEOUT_MS' | 'S3_MAX_CONNECTIONS'
>;

/** Some bytes of an object. */
export interface ObjectRange {
  readonly start: number;
  readonly length: number;
  /** The length that the object should have. */
  readonly of: number;
}

/** Attempts of a call: what is refused with 5xx or SlowDown, or breaks, is tried again, with pauses that grow. */
const MOST_ATTEMPTS = 4;

/**
 * A bucket of an object storage that speaks the API of S3. Credentials are found as by all tools of AWS. A call ends after S3_TIMEOUT_MS, with all its attempts.
 * All methods throw StoreUnavailableError, and the reason of a signal.
 */
export class Bucket {
  private readonly reader: S3Client;
  /** Has connections of its own: who writes does not wait for those who read. */
  private readonly writer: S3Client;
  private readonly outages: OutageLog;
  private error: string | null = null;

  constructor(
    private readonly settings: BucketSettings,
    private readonly clock: Clock,
  ) {
    this.outages = new OutageLog(new Logger('Bucket'), clock);
    this.reader = connect(settings);
    this.writer = connect(settings);
  }

  /** How the last call has ended. */
  get condition(): BucketCondition {
    return { bucket: this.settings.S3_BUCKET, error: this.error };
  }

  /** A name that no object has had. */
  newName(): string {
    return `${this.settings.S3_PREFIX}${uuid()}`;
  }

  /** Writes an object. */
  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.within((abortSignal) =>
      this.writer.send(new PutObjectCommand({ ...this.at(name), Body: bytes, ContentLength: bytes.length }), {
        abortSignal,
      }),
    );
  }

  /**
   * Bytes of an object in the parts in which they came, once all are there: no connection waits for whoever takes them. Undefined if there is no object.
   * Throws StoreUnavailableError also for one of another length.
   */
  async read(
    name: string,
    { start, length, of }: ObjectRange,
    signal?: AbortSignal,
  ): Promise<readonly Uint8Array[] | undefined> {
    const range = length === of ? {} : { Range: `bytes=${start}-${start + length - 1}` };
    const answer = await this.within(async (abortSignal) => {
      try {
        return await this.reader.send(new GetObjectCommand({ ...this.at(name), ...range }), { abortSignal });
      } catch (error) {
        if ((error as Partial<S3ServiceException>).name === 'NoSuchKey') return undefined;
        throw error;
      }
    }, signal);
    if (answer === undefined) return undefined;
    const parts: Uint8Array[] = [];
    let left = length;
    // In Node it is a stream of Node.
    for await (const part of this.partsOf(answer.Body as Readable, signal)) {
      left -= part.length;
      if (left < 0) break;
      parts.push(part);
    }
    const size = answer.ContentRange?.split('/')[1] ?? String(length);
    if (left === 0 && size === String(of)) return parts;
    throw new StoreUnavailableError('an object of the bucket has another length than its piece');
  }

  /** Whether there is an object. */
  async has(name: string): Promise<boolean> {
    return this.within(async (abortSignal) => {
      try {
        await this.writer.send(new HeadObjectCommand(this.at(name)), { abortSignal });
        return true;
      } catch (error) {
        // The answer has no body that would tell a missing object from a missing bucket; the next write does.
        if ((error as Partial<S3ServiceException>).$metadata?.httpStatusCode === 404) return false;
        throw error;
      }
    });
  }

  /** Deletes an object, if there is one. */
  async delete(name: string): Promise<void> {
    await this.within((abortSignal) => this.writer.send(new DeleteObjectCommand(this.at(name)), { abortSignal }));
  }

  /** Writes, reads and deletes an object. */
  async check(): Promise<void> {
    const name = this.newName();
    const bytes = Buffer.from('antiphon check');
    await this.put(name, bytes);
    await this.read(name, { start: 0, length: bytes.length, of: bytes.length });
    await this.delete(name);
  }

  /** Closes all connections. */
  close(): void {
    this.reader.destroy();
    this.writer.destroy();
  }

  private at(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.settings.S3_BUCKET, Key: name };
  }

  private async within<T>(call: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const deadline = new AbortController();
    const timer = this.clock.schedule(this.settings.S3_TIMEOUT_MS, () => deadline.abort());
    try {
      const result = await call(AbortSignal.any([deadline.signal, ...(signal === undefined ? [] : [signal])]));
      this.error = null;
      return result;
    } catch (error) {
      throw this.toStoreError(error, deadline.signal, signal);
    } finally {
      timer.cancel();
    }
  }

  /** A pause between two parts is not longer than S3_TIMEOUT_MS. */
  private async *partsOf(body: Readable, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const deadline = new AbortController();
    addAbortSignal(AbortSignal.any([deadline.signal, ...(signal === undefined ? [] : [signal])]), body);
    const parts = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
    try {
      for (;;) {
        const timer = this.clock.schedule(this.settings.S3_TIMEOUT_MS, () => deadline.abort());
        const part = await parts.next().finally(() => timer.cancel());
        if (part.done === true) return;
        yield part.value;
      }
    } catch (error) {
      throw this.toStoreError(error, deadline.signal, signal);
    } finally {
      body.destroy();
    }
  }

  private toStoreError(error: unknown, deadline: AbortSignal, signal?: AbortSignal): unknown {
    if (signal?.aborted === true) return signal.reason;
    const reason = deadline.aborted ? `no answer within ${this.settings.S3_TIMEOUT_MS} ms` : describe(error);
    this.error = reason;
    this.outages.warn(`the bucket ${this.settings.S3_BUCKET} is not available`, reason);
    return new StoreUnavailableError(`the bucket is not available: ${reason}`, { cause: error });
  }
}

function connect(settings: BucketSettings): S3Client {
  const { S3_ENDPOINT: endpoint, S3_REGION: region, S3_PATH_STYLE: forcePathStyle } = settings;
  const agent = { keepAlive: true, maxSockets: settings.S3_MAX_CONNECTIONS };
  return new S3Client({
    region,
    forcePathStyle,
    ...(endpoint === '' ? {} : { endpoint }),
    maxAttempts: MOST_ATTEMPTS,
    // Other implementations do not know the checksums that AWS has added; the signature covers the body.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { httpAgent: agent, httpsAgent: agent },
  });
}

/** The code of an error, without what a server has written in its message. */
function describe(error: unknown): string {
  const { name, code, $metadata } = error as Partial<S3ServiceException> & { readonly code?: unknown };
  if (typeof code === 'string') return code;
  const status = $metadata?.httpStatusCode;
  return status === undefined ? String(name) : `${name} (${status})`;
}
