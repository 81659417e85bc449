import 'reflect-metadata';

import { Choice, Flag, Milliseconds, Shape, Text, TextList, WholeNumber } from './variables.js';

const MEGABYTE = 1024 * 1024;
const DAY_IN_SECONDS = 24 * 60 * 60;
const LONGEST_TTL_SECONDS = 100 * 365 * DAY_IN_SECONDS;

/**
 * The variables of the service, with their types and defaults: `.env.example` and the README list the same. Inject this
 * class to read them. Imported modules read further ones from VariableSource.
 */
export class Environment {
  /** Port to listen on; 0 selects a free one. */
  @WholeNumber(0, 65_535)
  readonly PORT: number = 8080;

  /** Address to listen on. Empty: 127.0.0.1 without API_KEYS, 0.0.0.0 with them. */
  @Text()
  readonly HOST: string = '';

  /**
   * API keys as `tenant:key` entries; a key may be given as `sha256:<hex>`. Empty: no authentication, local clients
   * only.
   */
  @TextList()
  readonly API_KEYS: readonly string[] = [];

  /** Allows a public HOST without API_KEYS: any client that can reach the port can use the service. */
  @Flag()
  readonly ALLOW_OPEN: boolean = false;

  /** Origins whose web pages may call the service, such as `https://app.example.com`; `*` is any (only with API_KEYS). */
  @TextList()
  readonly CORS_ORIGINS: readonly string[] = [];

  /** Least severe message that is logged. */
  @Choice('fatal', 'error', 'warn', 'log', 'debug', 'verbose')
  readonly LOG_LEVEL: 'fatal' | 'error' | 'warn' | 'log' | 'debug' | 'verbose' = 'log';

  /** Format of log lines. */
  @Choice('text', 'json')
  readonly LOG_FORMAT: 'text' | 'json' = 'text';

  /** Largest request body, bytes, as sent and again when decompressed. */
  @WholeNumber(1024)
  readonly BODY_LIMIT_BYTES: number = 64 * MEGABYTE;

  /** Time limit for receiving a whole request, ms. */
  @Milliseconds(1000)
  readonly REQUEST_TIMEOUT_MS: number = 60_000;

  /** Handling of request fields that are not part of the API. */
  @Choice('ignore', 'reject')
  readonly UNKNOWN_PARAMETERS: 'ignore' | 'reject' = 'ignore';

  /** Processes that serve one port; more than one needs STATE=postgres. Limits per process apply to each of them. */
  @WholeNumber(1, 1024)
  readonly WORKERS: number = 1;

  /**
   * Where responses are saved: `memory` (this process), `postgres` (a database shared by replicas), or a backend of the
   * program.
   */
  @Shape(/^[a-z][a-z0-9_-]*$/, 'the name of a backend, such as memory or postgres')
  readonly STATE: string = 'memory';

  /** The database of STATE=postgres, version 14 or later: `postgres://user:password@host/database?sslmode=verify-full`. */
  @Text()
  readonly DATABASE_URL: string = '';

  /**
   * The same database without the pooler, for what needs a session: notices and migrations. Set it when DATABASE_URL is
   * a pooler in transaction mode. Empty: no pooler.
   */
  @Text()
  readonly DATABASE_DIRECT_URL: string = '';

  /** Most connections of this process to the database; one more receives notices from other replicas. */
  @WholeNumber(1)
  readonly DATABASE_POOL_SIZE: number = 10;

  /** Time limit for acquiring a connection, ms; beyond it the request is refused with 503. */
  @Milliseconds(1)
  readonly DATABASE_CONNECT_TIMEOUT_MS: number = 5000;

  /** Time limit for one statement, ms; beyond it the request is refused with 503. */
  @Milliseconds(1)
  readonly DATABASE_STATEMENT_TIMEOUT_MS: number = 15_000;

  /**
   * Brings the schema up to date at start. When false, the service does not start before `npm run migrate` has done so.
   */
  @Flag()
  readonly DATABASE_MIGRATE: boolean = true;

  /** Most responses in memory; beyond it the oldest are dropped. */
  @WholeNumber(1)
  readonly MEMORY_MAX_RESPONSES: number = 100_000;

  /** Most bytes in memory, estimated; beyond it the oldest responses are dropped. */
  @WholeNumber(MEGABYTE)
  readonly MEMORY_MAX_BYTES: number = 256 * MEGABYTE;

  /** Lifetime of a stored response, seconds; the request header `x-response-ttl` overrides it. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly RESPONSE_TTL: number = 30 * DAY_IN_SECONDS;

  /** Longest lifetime that a request may ask for, seconds. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly RESPONSE_TTL_MAX: number = 90 * DAY_IN_SECONDS;

  /** Most bytes of stored items that one turn may load; 400 `context_length_exceeded` beyond (STATE=postgres). */
  @WholeNumber(MEGABYTE, 256 * MEGABYTE)
  readonly CONTEXT_MAX_BYTES: number = 128 * MEGABYTE;

  /** How often expired responses are freed, ms. They are invisible from the moment they expire. */
  @Milliseconds(1)
  readonly PURGE_INTERVAL_MS: number = 60_000;

  /** Most responses of a session that is named with `x-session-id`; 400 `session_limit_reached` beyond. 0: no limit. */
  @WholeNumber(0)
  readonly SESSION_MAX_RESPONSES: number = 1000;

  /** How long a turn waits for another turn of the same session, ms; then it is refused with 409 `session_locked`. */
  @Milliseconds(0)
  readonly SESSION_LOCK_TIMEOUT_MS: number = 30_000;

  /** How long a session stays locked after its replica crashed during a turn, ms. */
  @Milliseconds(100)
  readonly SESSION_LOCK_TTL_MS: number = 30_000;

  /** Most turns that run at once in this process; beyond it turns are refused with 503 `server_is_overloaded`. */
  @WholeNumber(1)
  readonly MAX_RUNNING_TURNS: number = 10_000;

  /**
   * File (YAML or JSON) that lists upstream servers and their models; read again on SIGHUP. Empty: only providers of
   * the program are available.
   */
  @Text()
  readonly PROVIDERS_FILE: string = '';

  /** Time limit for a provider to list its models, ms; beyond it the last known list is used. */
  @Milliseconds(1)
  readonly MODEL_LIST_TIMEOUT_MS: number = 5000;

  /**
   * How long a streamed request waits for a refusal by the model, which then becomes an HTTP error, ms; after that the
   * stream begins and a refusal fails the response. JSON requests wait without limit.
   */
  @Milliseconds(0)
  readonly MODEL_ACCEPT_TIMEOUT_MS: number = 1000;

  /** Longest pause of a model within a turn, ms; beyond it the response fails. 0: no limit. */
  @Milliseconds(0)
  readonly MODEL_IDLE_TIMEOUT_MS: number = 300_000;

  /** Most characters of model output in one response; beyond it the response fails. */
  @WholeNumber(1)
  readonly MAX_OUTPUT_CHARACTERS: number = 16 * MEGABYTE;

  /** Most passes of one response, where pass policies of the program start further ones; then the response ends. */
  @WholeNumber(1)
  readonly MAX_PASSES: number = 50;

  /** Idle time of a stream before a keepalive event is sent, ms. */
  @Milliseconds(1)
  readonly SSE_KEEPALIVE_MS: number = 15_000;

  /** How long a client may leave a stream unread before its connection is closed, ms. */
  @Milliseconds(1)
  readonly CLIENT_STALL_TIMEOUT_MS: number = 120_000;

  /**
   * WebSocket mode on the path of `POST /responses`. When false, upgrades are answered with 426, and Codex falls back
   * to HTTP.
   */
  @Flag()
  readonly WS_ENABLED: boolean = true;

  /** Most WebSocket connections of this process. */
  @WholeNumber(1)
  readonly WS_MAX_CONNECTIONS: number = 100;

  /** Most WebSocket connections of one tenant. 0: only WS_MAX_CONNECTIONS applies. */
  @WholeNumber(0)
  readonly WS_MAX_CONNECTIONS_PER_TENANT: number = 0;

  /** Longest lifetime of a connection, ms. */
  @Milliseconds(1)
  readonly WS_MAX_LIFETIME_MS: number = 3_600_000;

  /**
   * How long before the end of a connection `connection_expiring` is sent, ms. 0, or at least WS_MAX_LIFETIME_MS:
   * never.
   */
  @Milliseconds(0)
  readonly WS_EXPIRY_NOTICE_MS: number = 300_000;

  /** How long running turns may continue after their connection has expired, ms; new ones are refused meanwhile. */
  @Milliseconds(0)
  readonly WS_EXPIRY_GRACE_MS: number = 30_000;

  /**
   * Close code of a connection that expired or was retired. SDKs that are configured to reconnect do so on 1001, not on
   * 1000.
   */
  @WholeNumber(1000, 4999)
  readonly WS_EXPIRY_CLOSE_CODE: number = 1000;

  /** Idle time, without turns and messages, before a connection is closed, ms. 0: no limit. */
  @Milliseconds(0)
  readonly WS_IDLE_TIMEOUT_MS: number = 0;

  /** How often connections are pinged, ms; after two pings without a response a connection is closed. */
  @Milliseconds(1)
  readonly WS_PING_INTERVAL_MS: number = 25_000;

  /** Idle time of a running turn before a keepalive event is sent, ms: some clients ignore pings. */
  @Milliseconds(1)
  readonly WS_KEEPALIVE_MS: number = 60_000;

  /** Largest message from a client, bytes, decompressed; a larger one closes the connection with 1009. */
  @WholeNumber(1024, 1024 * MEGABYTE)
  readonly WS_MAX_MESSAGE_BYTES: number = 16 * MEGABYTE;

  /** Compresses messages (permessage-deflate) for clients that offer it. */
  @Flag()
  readonly WS_COMPRESSION: boolean = true;

  /** A `response.create` without `stream_id` while another one runs: `reject` with 409, or `queue`. */
  @Choice('reject', 'queue')
  readonly WS_OVERLAP: 'reject' | 'queue' = 'reject';

  /** Turns on sockets that name a session hold its lock, as over HTTP. */
  @Flag()
  readonly WS_SESSION_LOCK: boolean = false;

  /** Most queued turns of one connection; beyond it turns are refused with 429 `too_many_queued_requests`. */
  @WholeNumber(0)
  readonly WS_QUEUE_MAX_TURNS: number = 128;

  /** Most bytes of queued turns of one connection. */
  @WholeNumber(1024)
  readonly WS_QUEUE_MAX_BYTES: number = 64 * MEGABYTE;

  /** Most bytes of queued turns of all connections together. */
  @WholeNumber(1024)
  readonly WS_QUEUE_TOTAL_BYTES: number = 256 * MEGABYTE;

  /**
   * Most bytes of transcripts cached for one connection, estimated; beyond it the least recently used lanes are
   * dropped.
   */
  @WholeNumber(1024)
  readonly WS_CACHE_MAX_BYTES: number = 64 * MEGABYTE;

  /** Most bytes of transcripts cached for all connections together. */
  @WholeNumber(1024)
  readonly WS_CACHE_TOTAL_BYTES: number = 512 * MEGABYTE;

  /**
   * Most bytes a client may leave unread; beyond it the connection is closed with 1013. Models are paused long before.
   */
  @WholeNumber(1024)
  readonly WS_MAX_BUFFERED_BYTES: number = 16 * MEGABYTE;

  /**
   * Time from SIGTERM to the refusal of new turns, ms; `/readyz` answers 503 meanwhile, so that load balancers stop
   * sending traffic.
   */
  @Milliseconds(0)
  readonly SHUTDOWN_DELAY_MS: number = 0;

  /** How long running turns may continue after that, ms; then they fail. */
  @Milliseconds(0)
  readonly DRAIN_TIMEOUT_MS: number = 30_000;

  /** File to which the answers of providers are appended, as a script for replay. Empty: none. */
  @Text()
  readonly RECORD_FILE: string = '';
}
