import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

import { Environment } from '../../../src/config/index.js';
import type { BucketSettings } from '../../../src/state/s3/index.js';
import { LocalServer } from '../local-server.js';

/** Whose signature it should be. */
interface SigningKey {
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
}

/** Checks the signature of a request, as Signature Version 4 of AWS describes it; the code of what is wrong, as S3 has it. */
function faultOfSignature(request: IncomingMessage, body: Buffer, key: SigningKey): string | undefined {
  const { headers, method = '', url = '' } = request;
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (found === null) return 'AccessDenied';
  const [, accessKey, date = '', region = '', signed = '', signature] = found;
  if (accessKey !== key.AWS_ACCESS_KEY_ID) return 'InvalidAccessKeyId';
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const [path = '', query = ''] = url.split('?');
  const pairs = query === '' ? [] : query.split('&').sort();
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/\s+/g, ' ')}\n`);
  const canonical = [method, path, pairs.join('&'), lines.join(''), signed, sha256(body)].join('\n');
  const scope = `${date}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(Buffer.from(canonical))].join('\n');
  const secret = [date, region, 's3', 'aws4_request'].reduce<Buffer>(
    (parent, part) => createHmac('sha256', parent).update(part).digest(),
    Buffer.from(`AWS4${key.AWS_SECRET_ACCESS_KEY}`),
  );
  const expected = createHmac('sha256', secret).update(text).digest('hex');
  return signature === expected ? undefined : 'SignatureDoesNotMatch';
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The credentials that the fake accepts. */
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'test-access-key', AWS_SECRET_ACCESS_KEY: 'test-secret-key' };

const BUCKET = 'files';

/** Bytes of an object that leave together. */
const PART_BYTES = 64 * 1024;

/** What becomes of a request: an error of S3, no answer at all, or half of an object and then nothing. */
export type Misbehaviour = { readonly status: number; readonly code: string } | 'silence' | 'half';

/** An object storage with one bucket in memory, which speaks as much of the API of S3 as is used, with paths, and checks signatures. */
export class FakeS3 extends LocalServer {
  readonly objects = new Map<string, Buffer>();
  /** Requests that were answered or not, such as `PUT a/b`. */
  readonly requests: string[] = [];
  /** Decides what becomes of a request; undefined: it is served. */
  misbehave: (request: string) => Misbehaviour | undefined = () => undefined;
  private readonly before: readonly (readonly [name: string, value: string | undefined])[];

  private constructor() {
    super(createServer((request, response) => void this.serve(request, response)));
    // The client of AWS looks nowhere else then, and the process has nothing of them afterwards.
    const set = { ...CREDENTIALS, AWS_EC2_METADATA_DISABLED: 'true' };
    this.before = Object.keys(set).map((name) => [name, process.env[name]]);
    Object.assign(process.env, set);
  }

  static start(): Promise<FakeS3> {
    return new FakeS3().listen();
  }

  /** The variables of a service that uses it. */
  get environment(): Readonly<Record<string, string>> {
    return { S3_BUCKET: BUCKET, S3_ENDPOINT: this.origin, S3_PATH_STYLE: 'true', S3_PREFIX: 'test/' };
  }

  /** The same, for a Bucket without a service. */
  get settings(): BucketSettings {
    return Object.assign(new Environment(), this.environment, { S3_PATH_STYLE: true });
  }

  /** Is told of the bytes that leave, part by part. */
  onSent(tell: (bytes: number) => void): void {
    this.sent = tell;
  }

  /** Resolves when a request whose answer was held is given up by its client. */
  async abandoned(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.onAbandoned = () => resolve(undefined);
    await promise;
  }

  /** Resolves when no object is left. */
  async emptied(): Promise<void> {
    while (this.objects.size > 0) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.onDeleted = () => resolve(undefined);
      await promise;
    }
  }

  /** Breaks the connections of the requests whose answers were held. */
  breakHeld(): void {
    for (const response of this.held) response.destroy();
  }

  override async close(): Promise<void> {
    await super.close();
    for (const [name, value] of this.before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  }

  private readonly held = new Set<ServerResponse>();
  private onDeleted: () => void = () => undefined;
  private onAbandoned: () => void = () => undefined;
  private sent: (bytes: number) => void = () => undefined;

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { pathname } = new URL(request.url ?? '', 'http://host');
    const [bucket, ...names] = decodeURIComponent(pathname.slice(1)).split('/');
    const name = names.join('/');
    const asked = `${request.method} ${name}`;
    this.requests.push(asked);
    const misbehaviour = this.misbehave(asked);
    if (misbehaviour === 'silence') {
      this.hold(response);
      return;
    }
    if (misbehaviour === 'half') {
      const bytes = this.objects.get(name) ?? Buffer.of();
      response.writeHead(200, { 'content-length': bytes.length }).write(bytes.subarray(0, bytes.length / 2));
      this.hold(response);
      return;
    }
    if (misbehaviour !== undefined) {
      refuse(response, misbehaviour.status, misbehaviour.code);
      return;
    }
    const fault = faultOfSignature(request, body, CREDENTIALS);
    if (fault !== undefined) {
      refuse(response, 403, fault);
      return;
    }
    if (bucket !== BUCKET) {
      refuse(response, 404, 'NoSuchBucket');
      return;
    }
    this.answer(request, name, body, response);
  }

  private answer({ method, headers }: IncomingMessage, name: string, body: Buffer, response: ServerResponse): void {
    if (method === 'PUT') {
      this.objects.set(name, body);
      response.writeHead(200, { etag: '"etag"' }).end();
    } else if (method === 'DELETE') {
      this.objects.delete(name);
      this.onDeleted();
      response.writeHead(204).end();
    } else if (method === 'HEAD') {
      const length = this.objects.get(name)?.length;
      response.writeHead(length === undefined ? 404 : 200, { 'content-length': length ?? 0 }).end();
    } else {
      const bytes = this.objects.get(name);
      if (bytes === undefined) {
        refuse(response, 404, 'NoSuchKey');
        return;
      }
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
      const asked = bytes.subarray(Number(first ?? 0), last === undefined ? undefined : Number(last) + 1);
      response.writeHead(first === undefined ? 200 : 206, {
        'content-length': asked.length,
        'last-modified': new Date(0).toUTCString(),
        ...(first === undefined ? {} : { 'content-range': `bytes ${first}-${last}/${bytes.length}` }),
      });
      Readable.from(this.partsOf(asked)).pipe(response);
    }
  }

  /** No more leave than their receiver takes. */
  private *partsOf(bytes: Buffer): Generator<Buffer> {
    for (let place = 0; place < bytes.length; place += PART_BYTES) {
      const part = bytes.subarray(place, place + PART_BYTES);
      this.sent(part.length);
      yield part;
    }
  }

  private hold(response: ServerResponse): void {
    this.held.add(response);
    response.once('close', () => {
      this.held.delete(response);
      this.onAbandoned();
    });
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  const text = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>No: ${code}</Message></Error>`;
  response.writeHead(status, { 'content-type': 'application/xml' }).end(text);
}
