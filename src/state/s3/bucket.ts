import { addAbortSignal, type Readable } from 'node:stream';

import {
  DeleteObjectCommand,
  GetObjectCommand,
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
  'S3_BUCKET' | 'S3_ENDPOINT' | 'S3_REGION' | 'S3_PREFIX' | 'S3_PATH_STYLE' | 'S3_TIMEOUT_MS'
>;

/** Attempts of a call: what is refused with 5xx or SlowDown, or breaks, is tried again, with pauses that grow. */
const MOST_ATTEMPTS = 4;

/** Connections at a time. Others wait. */
const MOST_CONNECTIONS = 256;

/**
 * A bucket of an object storage that speaks the API of S3. Credentials are found as by all tools of AWS. A call ends after S3_TIMEOUT_MS, with all its attempts.
 * All methods throw StoreUnavailableError, and the reason of a signal.
 */
export class Bucket {
  private readonly client: S3Client;
  private readonly outages: OutageLog;
  private error: string | null = null;

  constructor(
    private readonly settings: BucketSettings,
    private readonly clock: Clock,
  ) {
    const { S3_ENDPOINT: endpoint, S3_REGION: region, S3_PATH_STYLE: forcePathStyle } = settings;
    this.outages = new OutageLog(new Logger('Bucket'), clock);
    this.client = new S3Client({
      region,
      forcePathStyle,
      ...(endpoint === '' ? {} : { endpoint }),
      maxAttempts: MOST_ATTEMPTS,
      // Other implementations do not know the checksums that AWS has added; the signature covers the body.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        httpAgent: { keepAlive: true, maxSockets: MOST_CONNECTIONS },
        httpsAgent: { keepAlive: true, maxSockets: MOST_CONNECTIONS },
      },
    });
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
      this.client.send(new PutObjectCommand({ ...this.at(name), Body: bytes, ContentLength: bytes.length }), {
        abortSignal,
      }),
    );
  }

  /** The bytes of an object as they arrive; undefined if there is none. Whoever stops reading stops the transfer. */
  async open(name: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array> | undefined> {
    const answer = await this.within(async (abortSignal) => {
      try {
        return await this.client.send(new GetObjectCommand(this.at(name)), { abortSignal });
      } catch (error) {
        if ((error as Partial<S3ServiceException>).name === 'NoSuchKey') return undefined;
        throw error;
      }
    }, signal);
    // In Node it is a stream of Node.
    return answer && this.read(answer.Body as Readable, signal);
  }

  /** Deletes an object, if there is one. */
  async delete(name: string): Promise<void> {
    await this.within((abortSignal) => this.client.send(new DeleteObjectCommand(this.at(name)), { abortSignal }));
  }

  /** Writes, reads and deletes an object. */
  async check(): Promise<void> {
    const name = this.newName();
    await this.put(name, Buffer.from('antiphon check'));
    for await (const _ of (await this.open(name)) ?? []);
    await this.delete(name);
  }

  /** Closes all connections. */
  close(): void {
    this.client.destroy();
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
  private async *read(body: Readable, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const deadline = new AbortController();
    addAbortSignal(AbortSignal.any([deadline.signal, ...(signal === undefined ? [] : [signal])]), body);
    const parts = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
    try {
      for (;;) {
        // The time that the reader takes is its own.
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

/** The code of an error, without what a server has written in its message. */
function describe(error: unknown): string {
  const { name, code, $metadata } = error as Partial<S3ServiceException> & { readonly code?: unknown };
  if (typeof code === 'string') return code;
  const status = $metadata?.httpStatusCode;
  return status === undefined ? String(name) : `${name} (${status})`;
}
