import { AsyncLocalStorage } from 'node:async_hooks';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { Agent, fetch } from 'undici';

import { isPublicAddress } from '../config/index.js';
import { permittedLookup } from '../outbound/index.js';
import { McpFailure } from './failures.js';

/** `fetch` as the library of the protocol takes it. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What a request of the protocol has to know of the HTTP below it, whose answers may come in many streams. */
export interface RequestScope {
  /** Ends the streams of the request. */
  readonly signal: AbortSignal;
  /** The answer cannot be read. */
  fail(failure: McpFailure): void;
}

/** The request that the running code belongs to. */
export const requestScope = new AsyncLocalStorage<RequestScope>();

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
   * A `fetch` that follows no redirects, and whose bodies have at most `mostBytes`: an event stream in each of its events, others as a whole.
   * A longer one fails with McpFailure, as does its request.
   */
  bounded(mostBytes: number): Fetch {
    return async (url, init) => {
      const options = { ...init, redirect: 'manual', dispatcher: this.agent } as Parameters<typeof fetch>[1];
      const answer = (await fetch(url, options)) as unknown as Response;
      if (answer.body === null) return answer;
      const isEvents = (answer.headers.get('content-type') ?? '').startsWith('text/event-stream');
      const { status, statusText, headers } = answer;
      const scope = requestScope.getStore();
      return new Response(answer.body.pipeThrough(limit(mostBytes, isEvents, scope)), { status, statusText, headers });
    };
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.agent.destroy();
  }
}

function limit(
  mostBytes: number,
  isEvents: boolean,
  scope: RequestScope | undefined,
): TransformStream<Uint8Array, Uint8Array> {
  const measure = isEvents ? new LongestEvent() : new TotalLength();
  return new TransformStream({
    transform(chunk, controller) {
      if (measure.add(chunk) <= mostBytes) {
        controller.enqueue(chunk);
        return;
      }
      const failure = new McpFailure('too_large', `The answer of the server has more than ${mostBytes} bytes.`);
      scope?.fail(failure);
      controller.error(failure);
    },
  });
}

class TotalLength {
  private bytes = 0;

  /** Takes a part of a body, and returns its length so far. */
  add({ byteLength }: Uint8Array): number {
    return (this.bytes += byteLength);
  }
}

class LongestEvent {
  private bytes = 0;
  private longest = 0;
  private isLineEmpty = false;

  /** Takes a part of a body, and returns the length of its longest event so far. */
  add(chunk: Uint8Array): number {
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
