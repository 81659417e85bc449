import type { UpstreamAddress } from '../upstream-http/upstream-client.js';
import type { Profile } from './profile.js';

/** A server with the Responses API. */
export interface ResponsesOptions {
  /** Name of the provider, for `owned_by`, the origin of responses, and the log. */
  readonly name: string;
  /** Requests go to `/responses` and `/models` below `baseUrl`. `timeouts.idleMs` is the time between two events. */
  readonly address: UpstreamAddress;
  /** A file with server-sent events that answers every request instead of the server; null for none. */
  readonly fixture: string | null;
  readonly profile: Profile;
  /** Whether WebSockets are used. */
  readonly websockets: WebsocketOptions | null;
  /** Whether request bodies are compressed with zstd. */
  readonly compressesRequests: boolean;
  /** Whether the upstream stores responses too, so that continuations need only its id. */
  readonly storesUpstream: boolean;
  /** Whether the upstream compacts contexts, instead of the service. */
  readonly compactsUpstream: boolean;
  readonly retries: RetryOptions;
  /** Whether to list models with `GET /models`. */
  readonly discover: boolean;
  /** Most inputs of one request for embeddings; absent: the default of providers. */
  readonly embeddingBatch?: number;
  /** Request members that are forwarded unchanged, beyond those of the API. */
  readonly forward: readonly string[];
  /** Request members that are not sent. */
  readonly omit: ReadonlySet<string>;
  /** Values that are redacted from errors and logs. */
  readonly secrets: readonly string[];
}

/** How WebSockets to an upstream are kept. */
export interface WebsocketOptions {
  /** For the whole handshake, ms. */
  readonly connectTimeoutMs: number;
  /** Most sockets of the provider at the same time. Beyond it turns use SSE. */
  readonly connections: number;
  /** After this time without a turn a socket is closed, ms. */
  readonly idleMs: number;
  /** Sockets of this age are replaced before their next turn, ms. Servers close them after 60 minutes. */
  readonly maxAgeMs: number;
  /** After this time a conversation that fell back to HTTP tries a WebSocket again, ms; null: never. */
  readonly healAfterMs: number | null;
  /** Whether to offer permessage-deflate. */
  readonly compresses: boolean;
}

/** How often and how long a failed request is repeated, before the first output. */
export interface RetryOptions {
  /** Repetitions of one HTTP request before its answer. */
  readonly requestMaxRetries: number;
  /** Repetitions of a failed stream. */
  readonly streamMaxRetries: number;
  /** For all attempts of a turn together, ms. */
  readonly budgetMs: number;
}
