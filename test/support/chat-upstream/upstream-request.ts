import type { IncomingHttpHeaders } from 'node:http';

/** A chat completions body, as far as tests look into it. */
export interface ChatBody {
  readonly model?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly Readonly<Record<string, unknown>>[];
  readonly [member: string]: unknown;
}

/** A request the upstream got. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; an empty object when there is none. */
  readonly body: ChatBody;
  /** Which of the upstream's connections it came over, counted from 1. */
  readonly connection: number;
  /** `1.1` or `2.0`. */
  readonly httpVersion: string;
  /** Resolves when the client hung up before the answer was over. */
  readonly closed: Promise<void>;
  /** Whether it did. */
  readonly isClosed: boolean;
  /** Packets of the answer written so far; the one that waits for room in the socket's buffers included. */
  readonly written: number;
  /** Resolves as soon as the answer waits for the client to read. */
  blocked(): Promise<void>;
}
