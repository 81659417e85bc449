import 'reflect-metadata';

import { Choice, Flag, Milliseconds, Shape, Text, TextList, WholeNumber } from './variables.js';

const MEGABYTE = 1024 * 1024;
const DAY_IN_SECONDS = 24 * 60 * 60;
const LONGEST_TTL_SECONDS = 100 * 365 * DAY_IN_SECONDS;

/**
 * The variables of the service, with their types and defaults: `.env.example` and the README list the same. Inject this
 * class to read them. A module that is imported may have others, which it reads from VariableSource.
 */
export class Environment {
  /** Port to listen on; 0 takes a free one. */
  @WholeNumber(0, 65_535)
  readonly PORT: number = 8080;

  /** Address to listen on. Empty: 127.0.0.1 without API_KEYS, 0.0.0.0 with them. */
  @Text()
  readonly HOST: string = '';

  /** Who may call: `tenant:key` entries; a key may be given as `sha256:<hex>`. Empty: open, for this machine only. */
  @TextList()
  readonly API_KEYS: readonly string[] = [];

  /** Allows a public HOST without API_KEYS: anybody who can reach the port can use the service. */
  @Flag()
  readonly ALLOW_OPEN: boolean = false;

  /** Origins whose web pages may call the service, such as `https://app.example.com`; `*` is any (only with API_KEYS). */
  @TextList()
  readonly CORS_ORIGINS: readonly string[] = [];

  /** Least severe message that is logged. */
  @Choice('fatal', 'error', 'warn', 'log', 'debug', 'verbose')
  readonly LOG_LEVEL: 'fatal' | 'error' | 'warn' | 'log' | 'debug' | 'verbose' = 'log';

  /** How log lines look. */
  @Choice('text', 'json')
  readonly LOG_FORMAT: 'text' | 'json' = 'text';

  /** Largest request body, bytes, as sent and again when decompressed. */
  @WholeNumber(1024)
  readonly BODY_LIMIT_BYTES: number = 64 * MEGABYTE;

  /** How long a client may take to send a whole request, ms. */
  @Milliseconds(1000)
  readonly REQUEST_TIMEOUT_MS: number = 60_000;

  /** What becomes of request fields that the API does not know. */
  @Choice('ignore', 'reject')
  readonly UNKNOWN_PARAMETERS: 'ignore' | 'reject' = 'ignore';

  /** Processes that serve, on one port; more than one needs STATE=postgres. What is said of a process here is said of each. */
  @WholeNumber(1, 1024)
  readonly WORKERS: number = 1;

  /** Where responses are saved: `memory` (this process), `postgres` (a database that replicas share), or a backend of the program. */
  @Shape(/^[a-z][a-z0-9_-]*$/, 'the name of a backend, such as memory or postgres')
  readonly STATE: string = 'memory';

  /** The database of STATE=postgres, version 14 or later: `postgres://user:password@host/database?sslmode=verify-full`. */
  @Text()
  readonly DATABASE_URL: string = '';

  /**
   * The same database past a pooler in transaction mode, for what needs a session: notices and migrations. Setting it also
   * says that DATABASE_URL is such a pooler. Empty: there is none.
   */
  @Text()
  readonly DATABASE_DIRECT_URL: string = '';

  /** Most connections of this process to the database; one more listens to other replicas. */
  @WholeNumber(1)
  readonly DATABASE_POOL_SIZE: number = 10;

  /** How long it may take to get a connection, ms; then the request is refused with 503. */
  @Milliseconds(1)
  readonly DATABASE_CONNECT_TIMEOUT_MS: number = 5000;

  /** How long one statement may take, ms; then the request is refused with 503. */
  @Milliseconds(1)
  readonly DATABASE_STATEMENT_TIMEOUT_MS: number = 15_000;

  /** Brings the schema up to date at start. Without it the start is refused until `npm run migrate` has done so. */
  @Flag()
  readonly DATABASE_MIGRATE: boolean = true;

  /** Most responses kept in memory; beyond it the oldest go. */
  @WholeNumber(1)
  readonly MEMORY_MAX_RESPONSES: number = 100_000;

  /** Most bytes kept in memory, estimated; beyond it the oldest go. */
  @WholeNumber(MEGABYTE)
  readonly MEMORY_MAX_BYTES: number = 256 * MEGABYTE;

  /** How long a stored response lives, seconds; a request says otherwise with the header `x-response-ttl`. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly RESPONSE_TTL: number = 30 * DAY_IN_SECONDS;

  /** Longest life that a request may ask for, seconds. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly RESPONSE_TTL_MAX: number = 90 * DAY_IN_SECONDS;

  /** Most bytes of stored items that one turn may bring back; 400 `context_length_exceeded` beyond (STATE=postgres). */
  @WholeNumber(MEGABYTE, 256 * MEGABYTE)
  readonly CONTEXT_MAX_BYTES: number = 128 * MEGABYTE;

  /** How often expired responses are freed, ms. Nobody sees them any more long before. */
  @Milliseconds(1)
  readonly PURGE_INTERVAL_MS: number = 60_000;

  /** Most responses of a session that is named with `x-session-id`; 400 `session_limit_reached` beyond. 0: no limit. */
  @WholeNumber(0)
  readonly SESSION_MAX_RESPONSES: number = 1000;

  /** How long a turn waits for another one of the session it names, ms; then it is refused with 409 `session_locked`. */
  @Milliseconds(0)
  readonly SESSION_LOCK_TIMEOUT_MS: number = 30_000;

  /** How long a session stays locked by a replica that died in the middle of a turn, ms. */
  @Milliseconds(100)
  readonly SESSION_LOCK_TTL_MS: number = 30_000;

  /** Most turns that run at once in this process; beyond it turns are refused with 503 `server_is_overloaded`. */
  @WholeNumber(1)
  readonly MAX_RUNNING_TURNS: number = 10_000;

  /**
   * File (YAML or JSON) that names upstream servers, and which models go where; read again on SIGHUP. Empty: only providers of
   * the program are there.
   */
  @Text()
  readonly PROVIDERS_FILE: string = '';

  /** How long a provider may take to list its models, ms; then it is listed as it was last. */
  @Milliseconds(1)
  readonly MODEL_LIST_TIMEOUT_MS: number = 5000;

  /**
   * How long the refusal of a model still becomes an HTTP error of a streamed request, ms; after that the stream begins and the
   * response fails. JSON requests wait.
   */
  @Milliseconds(0)
  readonly MODEL_ACCEPT_TIMEOUT_MS: number = 1000;

  /** How long a model may be silent within a turn, ms; then the response fails. 0: for ever. */
  @Milliseconds(0)
  readonly MODEL_IDLE_TIMEOUT_MS: number = 300_000;

  /** Most characters a model may write in one response; then the response fails. */
  @WholeNumber(1)
  readonly MAX_OUTPUT_CHARACTERS: number = 16 * MEGABYTE;

  /** How often the models of one response are asked at most, where policies of the program ask them again; then it ends. */
  @WholeNumber(1)
  readonly MAX_PASSES: number = 50;

  /** Silence on a stream after which a keepalive event is sent, ms. */
  @Milliseconds(1)
  readonly SSE_KEEPALIVE_MS: number = 15_000;

  /** How long a client may leave a stream unread before it is cut off, ms. */
  @Milliseconds(1)
  readonly CLIENT_STALL_TIMEOUT_MS: number = 120_000;

  /** WebSocket mode on the path of `POST /responses`. Without it upgrades are answered 426: Codex goes on over HTTP. */
  @Flag()
  readonly WS_ENABLED: boolean = true;

  /** Most WebSocket connections of this process. */
  @WholeNumber(1)
  readonly WS_MAX_CONNECTIONS: number = 100;

  /** Most WebSocket connections of one tenant. 0: only WS_MAX_CONNECTIONS counts. */
  @WholeNumber(0)
  readonly WS_MAX_CONNECTIONS_PER_TENANT: number = 0;

  /** How long a connection lives, ms. */
  @Milliseconds(1)
  readonly WS_MAX_LIFETIME_MS: number = 3_600_000;

  /** How long before its end a connection is told so with `connection_expiring`, ms. 0, or not before its begin: never. */
  @Milliseconds(0)
  readonly WS_EXPIRY_NOTICE_MS: number = 300_000;

  /** How long running turns may go on when their connection is at its end, ms; new ones are refused meanwhile. */
  @Milliseconds(0)
  readonly WS_EXPIRY_GRACE_MS: number = 30_000;

  /** Close code of a connection that reached its end or was retired. SDKs told to reconnect do so on 1001, not on 1000. */
  @WholeNumber(1000, 4999)
  readonly WS_EXPIRY_CLOSE_CODE: number = 1000;

  /** How long a connection may carry no turn and no message before it is closed, ms. 0: for ever. */
  @Milliseconds(0)
  readonly WS_IDLE_TIMEOUT_MS: number = 0;

  /** How often connections are pinged, ms; one that gives no sign of life for two pings is dropped. */
  @Milliseconds(1)
  readonly WS_PING_INTERVAL_MS: number = 25_000;

  /** Silence of a running turn after which a keepalive event is sent, ms: some clients do not count pings. */
  @Milliseconds(1)
  readonly WS_KEEPALIVE_MS: number = 60_000;

  /** Largest message from a client, bytes, decompressed; a larger one closes the connection with 1009. */
  @WholeNumber(1024, 1024 * MEGABYTE)
  readonly WS_MAX_MESSAGE_BYTES: number = 16 * MEGABYTE;

  /** Compresses messages (permessage-deflate) for clients that offer it. */
  @Flag()
  readonly WS_COMPRESSION: boolean = true;

  /** A `response.create` without `stream_id` while another one runs: `reject` it with 409, or `queue` it. */
  @Choice('reject', 'queue')
  readonly WS_OVERLAP: 'reject' | 'queue' = 'reject';

  /** Turns on sockets that name a session hold its lock, as those over HTTP do. */
  @Flag()
  readonly WS_SESSION_LOCK: boolean = false;

  /** Most turns that wait on one connection; beyond it they are refused with 429 `too_many_queued_requests`. */
  @WholeNumber(0)
  readonly WS_QUEUE_MAX_TURNS: number = 128;

  /** Most bytes of turns that wait on one connection. */
  @WholeNumber(1024)
  readonly WS_QUEUE_MAX_BYTES: number = 64 * MEGABYTE;

  /** Most bytes of turns that wait on all connections together. */
  @WholeNumber(1024)
  readonly WS_QUEUE_TOTAL_BYTES: number = 256 * MEGABYTE;

  /** Most bytes of conversations remembered for one connection, estimated; beyond it the oldest lanes are forgotten. */
  @WholeNumber(1024)
  readonly WS_CACHE_MAX_BYTES: number = 64 * MEGABYTE;

  /** Most bytes of conversations remembered for all connections together. */
  @WholeNumber(1024)
  readonly WS_CACHE_TOTAL_BYTES: number = 512 * MEGABYTE;

  /** Most bytes a client may leave unread; beyond it the connection is closed with 1013. Models are held back long before. */
  @WholeNumber(1024)
  readonly WS_MAX_BUFFERED_BYTES: number = 16 * MEGABYTE;

  /** From SIGTERM to the refusal of new turns, ms; `/readyz` says no meanwhile, so that balancers can move away. */
  @Milliseconds(0)
  readonly SHUTDOWN_DELAY_MS: number = 0;

  /** How long running turns may go on after that, ms; then they fail. */
  @Milliseconds(0)
  readonly DRAIN_TIMEOUT_MS: number = 30_000;

  /** File to which what providers answer is appended, as a script to be replayed. Empty: none. */
  @Text()
  readonly RECORD_FILE: string = '';
}
