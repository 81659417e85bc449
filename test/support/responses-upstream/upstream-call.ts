import type { IncomingHttpHeaders } from 'node:http';

/** Members of a request, as far as tests look into them. */
export interface RequestBody {
  readonly type?: string;
  readonly model?: string;
  readonly input?: readonly Readonly<Record<string, unknown>>[];
  readonly previous_response_id?: string;
  readonly [member: string]: unknown;
}

/** A request the upstream got, over either transport. */
export interface UpstreamCall {
  readonly transport: 'sse' | 'websocket';
  /** Path and query. */
  readonly url: string;
  /** Those of the HTTP request; on a socket those of its handshake. */
  readonly headers: IncomingHttpHeaders;
  /** The body or the frame. */
  readonly body: RequestBody;
  /** Its length as it was sent, bytes; compressed bodies as they came. */
  readonly bytes: number;
  /** Which of the upstream's connections it came over, counted from 1. */
  readonly connection: number;
  /** Id of the response that answers it. */
  readonly responseId: string;
  /** All items that the model sees: of the responses that it continues, and its own. */
  readonly context: readonly unknown[];
  /** Resolves when the client hung up before the answer was over. */
  readonly closed: Promise<void>;
}

/** A request before it has an answer. */
export type PlainCall = Omit<UpstreamCall, 'context' | 'responseId'>;
