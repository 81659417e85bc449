import { AsyncLocalStorage } from 'node:async_hooks';
import { lookup as systemLookup } from 'node:dns';
import type { IncomingHttpHeaders } from 'node:http';
import type { LookupFunction } from 'node:net';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

import { Agent, type Dispatcher, request } from 'undici';

import { isPublicAddress } from '../../config/index.js';
import { permittedLookup, readBounded } from '../../http/outbound/index.js';
import { type AnswerHead, readHead } from './answer-head.js';
import { isPage, McpFailure, tooLarge, webPage } from './failures.js';

/** `fetch` as the library of the protocol takes it. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What a request of the protocol has to know of the HTTP below it, whose answers may come in many streams. */
export interface RequestScope {
  /** Ends the streams of the request. */
  readonly signal: AbortSignal;
  /** The bytes of all answers so far, for a request whose answers are kept together, such as the pages of a list; null for others. */
  kept: number | null;
  /** The answer cannot be read. */
  fail(failure: McpFailure): void;
}

/** The request that the running code belongs to. */
export const requestScope = new AsyncLocalStorage<RequestScope>();

/** What is known of the requests that a `fetch` is for. */
export interface BoundedFetchOptions {
  /** Whether an answer means anything but its status: what nobody waits for is not read. */
  isAnswered?: (init: RequestInit) => boolean;
  /** Is told of the bytes of streams, and says whether they are too many together. */
  isTooMuch?: (bytes: number, scope: RequestScope | undefined) => boolean;
}

/** How bodies may be compressed. */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);
export const ACCEPTED = { 'accept-encoding': 'gzip, deflate, br' };

/** A stream has at most so many times the bytes of one answer: progress, and messages of other kinds, come with it. */
export const LONGEST_STREAM = 32;

/** The status by which a server takes what has no answer. */
const ACCEPTED_STATUS = 202;

/** Blank lines end events. */
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** HTTP to servers: pooled connections without time limits of their own. */
export class HttpClient {
  private readonly agent: Agent;

  /** `isPublic`: whether only public addresses are reached. It is checked with each connection, so that DNS cannot trick it. */
  constructor({ isPublic, lookup = systemLookup }: { isPublic: boolean; lookup?: LookupFunction | undefined }) {
    this.agent = new Agent({
      connect: isPublic ? { lookup: permittedLookup(lookup, isPublicAddress) } : { lookup },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * A `fetch` that follows no redirects, and whose bodies have at most `mostBytes`: an event stream in each of its events, others as a whole,
   * which are read before it resolves, and all together where the scope of the request counts them. A longer one fails with McpFailure, as does its request. It is none of undici's or Node's: theirs
   * take several times as long.
   */
  bounded(mostBytes: number, { isAnswered, isTooMuch: isStreamTooMuch }: BoundedFetchOptions = {}): Fetch {
    return async (url, init = {}) => {
      const { method = 'GET', headers, body, signal } = init;
      const scope = requestScope.getStore();
      const fail = (): McpFailure => {
        const failure = tooLarge(mostBytes);
        scope?.fail(failure);
        return failure;
      };
      const isTooMuch = (bytes: number): boolean => {
        if (scope == null || scope.kept === null) return false;
        scope.kept += bytes;
        return scope.kept > mostBytes;
      };
      try {
        const answer = await request(url, {
          dispatcher: this.agent,
          method: method as 'POST',
          headers: { ...ACCEPTED, ...Object.fromEntries(new Headers(headers)) },
          body: body as string | undefined,
          signal,
        });
        const { statusCode: status, statusText, headers: received } = answer;
        const head = readHead(status, received);
        const made = { status, statusText, headers: toHeaders(received, head) };
        const isRead = status >= 300 || (status !== ACCEPTED_STATUS && isAnswered?.(init) !== false);
        if (!head.hasBody || !isRead) {
          await answer.body.dump();
          return new Response(null, made);
        }
        const unpacked = unpack(answer.body, head.codings);
        if (head.isEvents) {
          const measure = new LongestEvent();
          const isTooLong = (chunk: Buffer): boolean => {
            const { byteLength } = chunk;
            const isMore = isStreamTooMuch?.(byteLength, scope) === true;
            return measure.add(chunk) > mostBytes || isTooMuch(byteLength) || isMore;
          };
          return new Response(toEvents(unpacked, isTooLong, fail), made);
        }
        const whole = await readBounded(unpacked, mostBytes, fail);
        if (isTooMuch(whole.byteLength)) throw fail();
        if (status < 300) checkType(whole, made.headers);
        return new Response(whole, made);
      } catch (error) {
        if (error instanceof McpFailure || signal?.aborted === true) throw error;
        throw new TypeError('fetch failed', { cause: error });
      }
    };
  }

  /** Sends a request whose answer goes to a handler: without the promises, the streams and the signals of `bounded`. */
  send(request: Dispatcher.DispatchOptions, answer: Dispatcher.DispatchHandler): void {
    this.agent.dispatch(request, answer);
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

/** The headers of an answer, with the type of its body as it was read: the library would read two types as none. */
function toHeaders(received: IncomingHttpHeaders, { mediaType }: AnswerHead): Headers {
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(received)) {
    for (const each of typeof value === 'string' ? [value] : value) headers.append(name, each);
  }
  if (mediaType !== '') headers.set('content-type', mediaType);
  return headers;
}

/** Has an answer name the type that it has: some servers name that of a page, or none. Throws McpFailure for a page. */
function checkType(body: Buffer, headers: Headers): void {
  const begin = body.toString('utf8', 0, LONGEST_BLANK);
  if (isPage(begin)) throw webPage();
  if (/^\s*[{[]/.test(begin)) headers.set('content-type', 'application/json');
}

/** Bytes of a body among which its first character is. */
const LONGEST_BLANK = 256;

/** Compressions of one answer: each costs a decoder, whether it has anything to do or not. */
const MOST_CODINGS = 5;

/** The body of an answer without its compression. Throws McpFailure for one that is packed too often. */
export function unpack(body: Readable, codings: readonly string[]): Readable {
  // An error that comes before somebody reads, or after, must not end the process.
  body.on('error', () => undefined);
  if (codings.length > MOST_CODINGS) {
    body.destroy();
    throw new McpFailure('protocol', 'The answer of the server is packed too often.');
  }
  return codings.reduceRight<Readable>((packed, coding) => {
    const decoder = DECODERS.get(coding)?.().on('error', () => undefined);
    // The errors of either reach whoever reads the end.
    return decoder === undefined ? packed : pipeline(packed, decoder, () => undefined);
  }, body);
}

function toEvents(
  body: Readable,
  isTooLong: (chunk: Buffer) => boolean,
  fail: () => McpFailure,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      body.on('data', (chunk: Buffer) => {
        if (isTooLong(chunk)) {
          body.destroy(fail());
          return;
        }
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= 0) body.pause();
      });
      body.once('end', () => controller.close());
      body.once('error', (error) => controller.error(error));
    },
    pull: () => void body.resume(),
    cancel: () => void body.destroy(),
  });
}

/** Measures the events of a stream. */
export class LongestEvent {
  /** Of the stream so far. */
  total = 0;
  private bytes = 0;
  private longest = 0;
  private isLineEmpty = false;

  /** Takes a part of a body, and returns the length of its longest event so far. */
  add(chunk: Uint8Array): number {
    this.total += chunk.byteLength;
    for (const byte of chunk) {
      this.bytes += 1;
      if (byte === CARRIAGE_RETURN) continue;
      if (byte === LINE_FEED && this.isLineEmpty) this.end();
      this.isLineEmpty = byte === LINE_FEED;
    }
    return Math.max(this.longest, this.bytes);
  }

  private end(): void {
    this.longest = Math.max(this.longest, this.bytes);
    this.bytes = 0;
  }
}
