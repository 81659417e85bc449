import 'reflect-metadata';

import {
  Choice,
  Choices,
  Flag,
  HIGHEST_PORT,
  LevelsOfParts,
  Milliseconds,
  Shape,
  Share,
  Text,
  TextList,
  WholeNumber,
} from './variables.js';

const MEGABYTE = 1024 * 1024;
const DAY_IN_SECONDS = 24 * 60 * 60;
const LONGEST_TTL_SECONDS = 100 * 365 * DAY_IN_SECONDS;

/**
 * The variables of the service, with their types and defaults. Inject this class to read them. A module that is imported
 * may have others, which it reads from VariableSource. `npm run docs` copies the comments to docs/configuration.md and
 * .env.example, under the headings that `// Section:` gives. `@example` is what .env.example recommends in place of the default.
 */
export class Environment {
  // Section: Server

  /** Port to listen on. 0 picks a free port. */
  @WholeNumber(0, HIGHEST_PORT)
  readonly PORT: number = 8080;

  /** Address to listen on. Empty: 127.0.0.1 without API_KEYS and KEYS_FILE, 0.0.0.0 with one of them. */
  @Text()
  readonly HOST: string = '';

  /**
   * Keys that clients may use: comma-separated `tenant:key` entries. A key may be given as its digest, `sha256:<64 hex
   * digits>`. Empty, and without
   * KEYS_FILE: the service is open, but only to this machine.
   */
  @TextList()
  readonly API_KEYS: readonly string[] = [];

  /** Allows a public HOST without API_KEYS and KEYS_FILE. Anybody who can reach the port can then use the service. */
  @Flag()
  readonly ALLOW_OPEN: boolean = false;

  /**
   * Origins whose web pages may call the service, comma-separated, such as `https://app.example.com`. `*` allows any
   * origin and requires API_KEYS or KEYS_FILE. Empty: none.
   */
  @TextList()
  readonly CORS_ORIGINS: readonly string[] = [];

  /** Least severe message that is logged. `log` has a line per refused request and per failed turn, `debug` adds
   * one per turn. */
  @Choice('fatal', 'error', 'warn', 'log', 'debug', 'verbose')
  readonly LOG_LEVEL: 'fatal' | 'error' | 'warn' | 'log' | 'debug' | 'verbose' = 'log';

  /**
   * Levels of parts of the service in place of LOG_LEVEL, such as `Turn=debug,Refused=warn`; parts are the names in brackets of log lines,
   * see docs/deployment.md.
   */
  @LevelsOfParts()
  readonly LOG_LEVELS: Readonly<Record<string, Environment['LOG_LEVEL']>> = {};

  /** Format of log lines; docs/operations.md describes those in JSON. */
  @Choice('text', 'json')
  readonly LOG_FORMAT: 'text' | 'json' = 'text';

  /** Times in log lines: ISO 8601 in UTC such as `2027-01-31T09:00:00.000Z`, or milliseconds since the epoch. */
  @Choice('iso', 'epoch')
  readonly LOG_TIME: 'iso' | 'epoch' = 'iso';

  /** Turns that have a line at level `log`: those that fail, or all. */
  @Choice('failed', 'all')
  readonly LOG_TURNS: 'failed' | 'all' = 'failed';

  /** Largest request body in bytes, both as sent and after decompression. */
  @WholeNumber(1024)
  readonly BODY_LIMIT_BYTES: number = 64 * MEGABYTE;

  /**
   * Maximum size of the request bodies and WebSocket messages that are being received, unpacked and parsed, all
   * together. Beyond it the largest unfinished one is refused with 503. Not less than BODY_LIMIT_BYTES and
   * WS_MAX_MESSAGE_BYTES.
   */
  @WholeNumber(MEGABYTE)
  readonly BODY_TOTAL_BYTES: number = 256 * MEGABYTE;

  /** Maximum number of JSON values in a request: objects, arrays, texts, numbers, booleans and nulls together. */
  @WholeNumber(1000)
  readonly BODY_MAX_VALUES: number = 500_000;

  /** Maximum number of different names of members in a request. */
  @WholeNumber(5000)
  readonly BODY_MAX_NAMES: number = 50_000;

  /** Maximum number of levels of objects and arrays in a request. Deeper JSON could overflow the stack. */
  @WholeNumber(16, 1000)
  readonly BODY_MAX_LEVELS: number = 256;

  /** Maximum number of items in `input`. */
  @WholeNumber(1)
  readonly INPUT_MAX_ITEMS: number = 10_000;

  /** Time a client has to send a whole request. It is checked every few seconds. */
  @Milliseconds(1000)
  readonly REQUEST_TIMEOUT_MS: number = 60_000;

  /**
   * What happens to request fields that the API does not know. `typos` refuses misspelt fields and fields of Chat
   * Completions with 400, and ignores others with a warning, once per name. `ignore` ignores all, `reject` refuses all.
   */
  @Choice('typos', 'ignore', 'reject')
  readonly UNKNOWN_PARAMETERS: 'typos' | 'ignore' | 'reject' = 'typos';

  /**
   * Number of processes that serve on the port. More than one requires a STATE that replicas share. All limits apply per process;
   * see docs/deployment.md.
   */
  @WholeNumber(1, 1024)
  readonly WORKERS: number = 1;

  /** Serves `/openapi.json`, `/asyncapi.json` and the page `/docs`, which describe the API and need no key. */
  @Flag()
  readonly API_DOCS: boolean = true;

  /**
   * Serves the page `/console`, which needs no key itself and asks for one; see docs/console.md. `auto` serves it only without API_KEYS,
   * KEYS_FILE and JWT_ISSUER.
   */
  @Choice('auto', 'true', 'false')
  readonly CONSOLE: 'auto' | 'true' | 'false' = 'auto';

  // Section: Doors

  /**
   * Other APIs that the service answers besides the Responses API, comma-separated; see docs/doors.md. `messages` is that of Anthropic, `POST
   * /v1/messages`; `chat` is Chat Completions, `POST /v1/chat/completions`. `none`: only the Responses API.
   */
  @Choices('messages', 'chat')
  readonly DOORS: readonly ('messages' | 'chat')[] = ['messages', 'chat'];

  /** Stores the responses of these APIs, too. If false, only those whose request names a session, or asks for it, are stored. */
  @Flag()
  readonly DOORS_STORE: boolean = false;

  /**
   * Tools of the service that every request of these APIs offers to its model, comma-separated: `web_search`, and `mcp:<server>` with a server of
   * MCP_SERVERS. Their calls are not in the answers; see docs/doors.md.
   */
  @TextList()
  readonly DOOR_TOOLS: readonly string[] = [];

  // Section: Access

  /**
   * YAML or JSON file of keys, given as digests, with tenants, scopes, models and expiry; see docs/access.md. It is read again when it
   * changes, and on SIGHUP. May be used beside API_KEYS.
   */
  @Text()
  readonly KEYS_FILE: string = '';

  /**
   * Wrong credentials from one address within a minute, after which others from there are refused with 429 unless they were accepted
   * meanwhile. 0: no limit.
   */
  @WholeNumber(0)
  readonly AUTH_FAILURES_PER_MINUTE: number = 60;

  /**
   * Addresses and networks of proxies, comma-separated, such as `10.0.0.0/8`. The address of a client is then the last one in
   * `x-forwarded-for` that is none of theirs; it only counts for AUTH_FAILURES_PER_MINUTE.
   */
  @TextList()
  readonly TRUSTED_PROXIES: readonly string[] = [];

  /**
   * Issuer of the JSON Web Tokens that clients may use as bearers, such as `https://login.example.com/`; see docs/access.md. Requires
   * JWT_AUDIENCE. Empty: none.
   */
  @Text()
  readonly JWT_ISSUER: string = '';

  /** Audience that tokens must name. */
  @Text()
  readonly JWT_AUDIENCE: string = '';

  /** Where the public keys of the issuer are. Empty: where its `/.well-known/openid-configuration` says. */
  @Text()
  readonly JWT_JWKS_URL: string = '';

  /** Claim with the tenant; dots lead into objects. */
  @Shape(/^\S+$/, 'the name of a claim, such as tenant')
  readonly JWT_TENANT_CLAIM: string = 'tenant';

  /** Claim with the scopes, as words or an array; others than those of the service are ignored. */
  @Shape(/^\S+$/, 'the name of a claim, such as scope')
  readonly JWT_SCOPES_CLAIM: string = 'scope';

  /** Claim with the models that a token may use, as words or an array. Empty: tokens may use all. */
  @Text()
  readonly JWT_MODELS_CLAIM: string = '';

  /** Signature algorithms that are accepted, comma-separated; only those with public keys. */
  @TextList()
  readonly JWT_ALGORITHMS: readonly string[] = ['RS256', 'ES256', 'EdDSA'];

  /** Longest lifetime of the tokens with which web pages open sockets (`POST /socket_tokens`), seconds. 0: there are none. */
  @WholeNumber(0, 3600)
  readonly SOCKET_TOKEN_TTL: number = 60;

  // Section: State

  /**
   * Where responses are stored: `memory` (in this process), `sqlite` (in a file of this process), `postgres` or `redis` (in a
   * database that replicas share), or a backend of the program. The default is that of programs; `npm start` and `npx antiphon` use
   * `sqlite` where it is not set. See docs/state.md.
   *
   * @example sqlite
   */
  @Shape(/^[a-z][a-z0-9_-]*$/, 'memory, sqlite, postgres, redis, or the name of a backend of the program')
  readonly STATE: string = 'memory';

  /** Directory of the file of STATE=sqlite; it is created when it does not exist. */
  @Text()
  readonly STATE_DIR: string = './data';

  /**
   * Redis for STATE=redis, Redis 7 or Valkey 8 or later: `redis://user:password@host:6379/0`, or `rediss://` for TLS, with
   * `?ca=/path/to/ca.pem` for a private authority. `redis+cluster://host:6379,host:6379` names nodes of a cluster,
   * `redis+sentinel://host:26379,host:26379/primary/0` the Sentinels of the primary with the name `primary`, `rediss+…://` both with TLS. Sentinels that need a
   * login of their own get `?sentinel_user=…&sentinel_password=…`. See docs/state.md.
   */
  @Text()
  readonly REDIS_URL: string = '';

  /** Beginning of the names of all keys, so that services can share a Redis. */
  @Shape(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'letters, digits, dots, dashes and underscores, such as antiphon')
  readonly REDIS_PREFIX: string = 'antiphon';

  /**
   * Replicas of Redis that must have received a write before it is confirmed (`WAIT`). While fewer are connected, saves fail with 503
   * after REDIS_COMMAND_TIMEOUT_MS: run at least one replica more than this number.
   */
  @WholeNumber(0, 16)
  readonly REDIS_WAIT_REPLICAS: number = 0;

  /** Maximum duration of one command, or of a write with its replicas. After that the request is refused with 503. */
  @Milliseconds(1)
  readonly REDIS_COMMAND_TIMEOUT_MS: number = 5000;

  /**
   * Database for STATE=postgres, PostgreSQL 14 or later: `postgres://user:password@host:5432/database`. For TLS add
   * `?sslmode=verify-full`, and `&sslrootcert=/path/to/ca.pem` for a private authority.
   */
  @Text()
  readonly DATABASE_URL: string = '';

  /**
   * DATABASE_URL without its connection pooler; notifications and migrations use it. Setting it declares that
   * DATABASE_URL is a pooler in transaction mode. Empty: there is no pooler.
   */
  @Text()
  readonly DATABASE_DIRECT_URL: string = '';

  /** Maximum number of database connections per process. One more listens for notifications. */
  @WholeNumber(1)
  readonly DATABASE_POOL_SIZE: number = 10;

  /** Maximum wait for a database connection. After that the request is refused with 503. */
  @Milliseconds(1)
  readonly DATABASE_CONNECT_TIMEOUT_MS: number = 5000;

  /** Maximum duration of one statement. After that the request is refused with 503. */
  @Milliseconds(1)
  readonly DATABASE_STATEMENT_TIMEOUT_MS: number = 15_000;

  /** Migrates the schema at start. If false, the service refuses to start until `npm run migrate` has done so. */
  @Flag()
  readonly DATABASE_MIGRATE: boolean = true;

  /**
   * How PostgreSQL searches vectors: `bits` needs no extension; `pgvector` creates the extension pgvector and what it needs with the migrations,
   * and refuses to start where it is not installed; `auto` uses pgvector where that was done once, and else bits.
   */
  @Choice('auto', 'pgvector', 'bits')
  readonly POSTGRES_VECTORS: 'auto' | 'pgvector' | 'bits' = 'auto';

  /** Maximum number of responses and conversations stored in memory. Beyond it, those written longest ago are removed. */
  @WholeNumber(1)
  readonly MEMORY_MAX_RESPONSES: number = 100_000;

  /** Maximum estimated size of what is stored in memory. Beyond it, what was written longest ago is removed. */
  @WholeNumber(MEGABYTE)
  readonly MEMORY_MAX_BYTES: number = 256 * MEGABYTE;

  /**
   * Lifetime of a stored response in seconds; 30 days by default. A request can choose another with the header
   * `x-response-ttl`.
   */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly RESPONSE_TTL: number = 30 * DAY_IN_SECONDS;

  /** Longest lifetime in seconds that a request can choose; 90 days by default. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly RESPONSE_TTL_MAX: number = 90 * DAY_IN_SECONDS;

  /**
   * Maximum size of the stored items that one turn may load. A longer context is refused with 400
   * `context_length_exceeded`. STATE=memory is bounded as a whole instead, by MEMORY_MAX_BYTES.
   */
  @WholeNumber(MEGABYTE, 256 * MEGABYTE)
  readonly CONTEXT_MAX_BYTES: number = 128 * MEGABYTE;

  /**
   * Maximum estimated size of the contexts that a process remembers of stored turns over HTTP, so that it does not read them for the next turn
   * of a chain. Beyond it, what was used longest ago is dropped. 0: each turn reads its context.
   */
  @WholeNumber(0)
  readonly CONTEXT_CACHE_BYTES: number = 64 * MEGABYTE;

  /** How often expired responses are removed from storage. They are invisible as soon as they expire. */
  @Milliseconds(1)
  readonly PURGE_INTERVAL_MS: number = 60_000;

  /**
   * Maximum number of responses in a session named with `x-session-id`. Beyond it turns are refused with 400
   * `session_limit_reached`. 0: no limit.
   */
  @WholeNumber(0)
  readonly SESSION_MAX_RESPONSES: number = 1000;

  /**
   * Maximum number of sessions that share a response with the one in which it was made. Beyond it a fork is refused with 400
   * `session_limit_reached`. 0: no limit.
   */
  @WholeNumber(0)
  readonly SESSION_MAX_FORKS: number = 1000;

  /**
   * Maximum wait for another turn of the same named session. After that the turn is refused with 409 `session_locked`.
   */
  @Milliseconds(0)
  readonly SESSION_LOCK_TIMEOUT_MS: number = 30_000;

  /** How long a session or a conversation stays locked after the replica that holds the lock crashed. */
  @Milliseconds(100)
  readonly SESSION_LOCK_TTL_MS: number = 30_000;

  /**
   * Keys that seal what clients keep for the service: compacted contexts and the reasoning of models, in `encrypted_content`.
   * Comma-separated, each 32 bytes in base64, such as `$(openssl rand -base64 32)`. The first seals, all of them open: put a new
   * key first, and remove an old one when its seals are no longer needed. Empty: one key is made and kept in the state. See
   * docs/seals.md.
   */
  @TextList()
  readonly SEAL_KEYS: readonly string[] = [];

  // Section: Models and turns

  /**
   * Maximum number of concurrent turns per process, and of concurrent counts of tokens (`POST /responses/input_tokens`). Further ones
   * are refused with 503 `server_is_overloaded`.
   */
  @WholeNumber(1)
  readonly MAX_RUNNING_TURNS: number = 10_000;

  /**
   * YAML or JSON file that lists upstream servers and routes model names to them; see docs/providers.md. SIGHUP reloads
   * it. Empty: only the providers of the program are available.
   */
  @Text()
  readonly PROVIDERS_FILE: string = '';

  /**
   * YAML or JSON file of prompts that requests name with `prompt`; see docs/prompts.md. It is read again when it changes, and on SIGHUP.
   * Empty: requests with a prompt are refused.
   */
  @Text()
  readonly PROMPTS_FILE: string = '';

  /**
   * File with server-sent events that answers in place of every server of the kind `responses`, for tests without a network; see
   * docs/upstreams.md. Empty: the servers answer.
   */
  @Text()
  readonly CODEX_RS_SSE_FIXTURE: string = '';

  /**
   * What happens to hosted tools, such as `web_search`, that no provider of the model runs: they are left out and only echoed, unless
   * `tool_choice` or `require_approval` demands one, or the request is refused with 400 `unsupported_value`.
   */
  @Choice('ignore', 'reject')
  readonly HOSTED_TOOLS: 'ignore' | 'reject' = 'ignore';

  /** Maximum time for a provider to list its models. After that its last list is used. */
  @Milliseconds(1)
  readonly MODEL_LIST_TIMEOUT_MS: number = 5000;

  /**
   * How long a streamed request waits for the first output before the stream starts. A model error within this time
   * becomes an HTTP error; later the response fails. A stream waits longer, up to `SSE_KEEPALIVE_MS`, for the headers of an upstream
   * with the Responses API, which become its own. JSON requests always wait.
   */
  @Milliseconds(0)
  readonly MODEL_ACCEPT_TIMEOUT_MS: number = 1000;

  /**
   * Maximum silence of a model within a turn. After that the response fails. 0: no limit. Longer than the timeouts of
   * upstreams, so that a turn whose upstream is silent can still be sent again.
   */
  @Milliseconds(0)
  readonly MODEL_IDLE_TIMEOUT_MS: number = 360_000;

  /**
   * Maximum duration of a whole turn: all waits and passes, tools that the server runs, and a client that reads slowly.
   * It begins when the turn is first in its lane, in the background with each attempt. After that the response fails with
   * `turn_time_limit_exceeded`. 0: no limit, in the background 24 hours.
   *
   * @example 14400000
   */
  @Milliseconds(0)
  readonly MAX_TURN_MS: number = 0;

  /** Maximum number of characters in one response. Beyond it the response fails. */
  @WholeNumber(1)
  readonly MAX_OUTPUT_CHARACTERS: number = 16 * MEGABYTE;

  /**
   * Maximum number of times that the model is asked in one response, for programs with pass policies. After the last one the response
   * ends. Compactions do not count.
   */
  @WholeNumber(1)
  readonly MAX_PASSES: number = 50;

  // Section: Limits

  /**
   * Requests that a tenant may send a minute, where no rule of LIMITS_FILE applies; see docs/limits.md. 0: no limit. Replicas with a
   * shared state count together.
   */
  @WholeNumber(0)
  readonly LIMIT_REQUESTS_PER_MINUTE: number = 0;

  /** Tokens that a tenant may use a minute, input and output, where no rule of LIMITS_FILE applies. 0: no limit. */
  @WholeNumber(0)
  readonly LIMIT_TOKENS_PER_MINUTE: number = 0;

  /**
   * Tokens that a turn reserves for its output until it ends, in a rule with a limit of tokens, where its request has no
   * `max_output_tokens`. What it writes beyond that is taken from the minutes that follow.
   */
  @WholeNumber(0)
  readonly LIMIT_OUTPUT_RESERVE: number = 1024;

  /** Turns that a tenant may run at once, where no rule of LIMITS_FILE applies. 0: no limit but MAX_RUNNING_TURNS. */
  @WholeNumber(0)
  readonly LIMIT_CONCURRENT_TURNS: number = 0;

  /**
   * YAML or JSON file with limits for tenants and models; see docs/limits.md. It is read again when it changes, and on SIGHUP.
   * Empty: the variables above are the only limits.
   */
  @Text()
  readonly LIMITS_FILE: string = '';

  // Section: Compaction

  /**
   * Tokens of user messages that a compaction keeps as they are, the newest first; at most half of the threshold. The rest is
   * summarised. See docs/compaction.md.
   */
  @WholeNumber(0)
  readonly COMPACTION_KEEP_TOKENS: number = 20_000;

  /**
   * Tokens from which `context_management` without `compact_threshold` compacts a context, for models whose window is not known. For
   * others it is 80 % of the window.
   */
  @WholeNumber(1000)
  readonly COMPACTION_THRESHOLD: number = 100_000;

  /** Maximum number of tokens of a summary, reasoning included; at most a quarter of the threshold and an eighth of the
   * window. A longer one is not used. */
  @WholeNumber(16)
  readonly COMPACTION_MAX_SUMMARY_TOKENS: number = 8192;

  /** What the model is asked when it is to summarise a context, as a message of the user. Empty: the prompt of the service. */
  @Text()
  readonly COMPACTION_PROMPT: string = '';

  // Section: MCP servers

  /**
   * YAML or JSON file of the MCP servers whose tools the service itself runs; see docs/mcp.md. It is read again when it changes, and on
   * SIGHUP. Empty: none.
   */
  @Text()
  readonly MCP_SERVERS: string = '';

  /**
   * Which URLs of MCP servers clients may bring, beside those of MCP_SERVERS: `none`; `public`, which means https to public addresses only;
   * or `any`, which lets clients reach your network and is for development. The upstream gets the tools of others.
   */
  @Choice('none', 'public', 'any')
  readonly MCP_CLIENT_URLS: 'none' | 'public' | 'any' = 'none';

  /** Most calls of MCP servers, and searches of the web, that a turn runs at once; others wait. Turns with `parallel_tool_calls: false` run one after another. */
  @WholeNumber(1, 1000)
  readonly MCP_MAX_PARALLEL_CALLS: number = 8;

  /** How long a call waits for its approval, seconds. After that an answer to it is refused with 404. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly MCP_APPROVAL_TTL: number = 7 * DAY_IN_SECONDS;

  /**
   * Whether a background turn sends a call again that was running when its process died. `safe`: only calls of tools with `readOnlyHint` or
   * `idempotentHint`; `always`: every call; `never`: none. A call that is not sent again fails, with an error that says so to the model.
   */
  @Choice('safe', 'never', 'always')
  readonly MCP_REPEAT_CALLS: 'safe' | 'never' | 'always' = 'safe';

  // Section: Web search

  /**
   * Engines that search the web for models, comma-separated; the first that answers counts: `searxng`, `brave`, `tavily`,
   * `mcp:<server>` or `mcp:<server>/<tool>` with a server of MCP_SERVERS, or `simulator` for tests; see docs/web-search.md. Empty: only
   * upstreams and programs can run `web_search`.
   */
  @TextList()
  readonly WEB_SEARCH: readonly string[] = [];

  /** Base URLs of the engines of WEB_SEARCH, comma-separated in their order; an empty one is that of the engine's maker. */
  @Text()
  readonly WEB_SEARCH_URL: string = '';

  /** Keys of the engines of WEB_SEARCH, comma-separated in their order. */
  @Text()
  readonly WEB_SEARCH_KEY: string = '';

  /** Where models may open pages: `public` addresses; `any`, which lets models reach your network; or `none`. */
  @Choice('public', 'any', 'none')
  readonly WEB_SEARCH_PAGES: 'public' | 'any' | 'none' = 'public';

  /** Whether the robots.txt of a site decides what is read of it. */
  @Flag()
  readonly WEB_SEARCH_ROBOTS: boolean = true;

  /** Who reads pages: a URL or an address for mail, which sites find in `user-agent`. */
  @Text()
  readonly WEB_SEARCH_CONTACT: string = '';

  /** Longest time for an engine to answer, and for a page to arrive. */
  @Milliseconds(1)
  readonly WEB_SEARCH_TIMEOUT_MS: number = 10_000;

  /** Most bytes of a page, unpacked. */
  @WholeNumber(1024)
  readonly WEB_SEARCH_PAGE_BYTES: number = 8 * MEGABYTE;

  /** Most searches in one response. Further ones fail, and the model learns why. 0: no limit but `max_tool_calls`. */
  @WholeNumber(0)
  readonly WEB_SEARCH_MAX_PER_RESPONSE: number = 50;

  /** Searches that a tenant may make a minute, where no rule of LIMITS_FILE says it. 0: no limit. */
  @WholeNumber(0)
  readonly WEB_SEARCH_PER_MINUTE: number = 0;

  // Section: Files

  /**
   * The database of files and vector stores, where the state is not one that keeps them, as with STATE=redis: `sqlite:` and a directory, or
   * `postgres://user:password@host:5432/database`. Empty: they are kept with the state, if it can.
   */
  @Text()
  readonly VECTOR_STORE_URL: string = '';

  /**
   * Name of a bucket for the contents of files, in Amazon S3 or another object storage with its API; the database keeps what is known of them. Credentials
   * are found as by all tools of AWS: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the role of the machine. Empty: the database keeps the contents, too.
   */
  @Text()
  readonly S3_BUCKET: string = '';

  /** URL of the object storage, such as `https://minio.example.com:9000`. Empty: Amazon S3 in S3_REGION. */
  @Text()
  readonly S3_ENDPOINT: string = '';

  /** Region of the bucket. Storages without regions take any. */
  @Text()
  readonly S3_REGION: string = 'us-east-1';

  /** How the names of all objects begin, such as `antiphon/`, where the bucket is not for this service alone. */
  @Text()
  readonly S3_PREFIX: string = '';

  /** Names the bucket in the path of URLs in place of the host name, as MinIO and others need. */
  @Flag()
  readonly S3_PATH_STYLE: boolean = false;

  /** Longest time of a call of the object storage with its repetitions, and without a byte while one is read. */
  @WholeNumber(1, 600_000)
  readonly S3_TIMEOUT_MS: number = 30_000;

  /** Most connections to the object storage at a time to read, and as many to write and delete. Other calls wait for one. */
  @WholeNumber(1)
  readonly S3_MAX_CONNECTIONS: number = 256;

  /** Most bytes of a file that is sent in one request. One that is uploaded in parts may have 8 GiB. */
  @WholeNumber(1)
  readonly FILES_MAX_FILE_BYTES: number = 512 * MEGABYTE;

  /** Most bytes of all files that a turn gives its model. */
  @WholeNumber(1)
  readonly FILE_INPUT_MAX_BYTES: number = 50 * MEGABYTE;

  /**
   * Most characters that the files of a turn become for a model that takes only text: their text, and the images of their pages in base64. A file
   * counts as often as parts name it, as do the bytes above.
   */
  @WholeNumber(1)
  readonly FILE_INPUT_MAX_CHARACTERS: number = 64 * MEGABYTE;

  /**
   * Most bytes of the files that the running turns of this process give their models, while they are read and as what they become. Beyond it a
   * turn is refused with 503, or goes back to its queue. Not less than FILE_INPUT_MAX_BYTES.
   */
  @WholeNumber(1)
  readonly FILE_INPUT_TOTAL_BYTES: number = 512 * MEGABYTE;

  /**
   * Where files are fetched that inputs name by `file_url`, for upstreams that do not fetch them themselves: `public` addresses; `any`, which lets
   * clients reach your network; or `none`.
   */
  @Choice('public', 'any', 'none')
  readonly FILE_URLS: 'public' | 'any' | 'none' = 'public';

  /** Longest time to fetch the files of a turn from their URLs. */
  @Milliseconds(1)
  readonly FILE_URL_TIMEOUT_MS: number = 20_000;

  /** Most bytes of all files of a tenant; what is being uploaded counts. Beyond it files are refused with 400 `file_quota_exceeded`. */
  @WholeNumber(1)
  readonly FILES_MAX_BYTES: number = 10 * 1024 * MEGABYTE;

  /** Most files of a tenant; an upload in parts that is pending counts. */
  @WholeNumber(1)
  readonly FILES_MAX_COUNT: number = 10_000;

  /** The model that makes the vectors of new vector stores. One that exists keeps the model that it was created with. */
  @Text()
  readonly EMBEDDING_MODEL: string = 'text-embedding-3-small';

  /** The model that makes queries of questions, where a search asks for it with `rewrite_query`. Empty: such searches are refused. */
  @Text()
  readonly QUERY_MODEL: string = '';

  /** Most vector stores of a tenant. Beyond it they are refused with 400 `vector_store_quota_exceeded`. */
  @WholeNumber(1)
  readonly VECTOR_STORES_MAX_COUNT: number = 1000;

  /** Most bytes of the chunks in all vector stores of a tenant. Beyond it files are not indexed: they fail. */
  @WholeNumber(1)
  readonly VECTOR_STORES_MAX_BYTES: number = 10 * 1024 * MEGABYTE;

  /** Files that this process indexes at once. */
  @WholeNumber(1, 64)
  readonly INDEX_PARALLEL_FILES: number = 2;

  // Section: Documents

  /**
   * Longest time to read one document: a web page, or a file whose model takes only text. What takes longer is not read, and the model
   * learns why.
   */
  @Milliseconds(1)
  readonly DOCUMENT_TIMEOUT_MS: number = 10_000;

  /** Most pages of a document that are read. */
  @WholeNumber(1)
  readonly DOCUMENT_MAX_PAGES: number = 500;

  /** Most pages of a PDF without text that are given as images to a model that sees them. 0: none. */
  @WholeNumber(0)
  readonly DOCUMENT_MAX_IMAGES: number = 20;

  /** Most characters of a document that are read. */
  @WholeNumber(1)
  readonly DOCUMENT_MAX_CHARACTERS: number = 2_000_000;

  /** Threads that read documents, each one at a time. They start when there is one to read. */
  @WholeNumber(1, 64)
  readonly DOCUMENT_THREADS: number = 2;

  // Section: Background responses

  /**
   * Maximum number of background turns that this process runs at once; others wait in the queue. 0: it runs none, and leaves
   * them to other processes.
   */
  @WholeNumber(0)
  readonly BACKGROUND_MAX_RUNNING: number = 64;

  /**
   * Maximum number of background turns that wait in the queue: of the process, or of all processes with a STATE that replicas
   * share. Beyond it they are refused with 429 `background_queue_full`.
   */
  @WholeNumber(1)
  readonly BACKGROUND_MAX_QUEUED: number = 10_000;

  /** Maximum number of background turns of one tenant that wait in the queue, counted and refused as those of BACKGROUND_MAX_QUEUED. */
  @WholeNumber(1)
  readonly BACKGROUND_MAX_QUEUED_PER_TENANT: number = 1000;

  /** Longest wait in the queue, seconds, checked every few seconds. After that the response fails with `background_wait_exceeded`. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly BACKGROUND_MAX_WAIT: number = 3600;

  /** Within this time, in seconds, another process takes over the background turns of one that died. */
  @WholeNumber(20, DAY_IN_SECONDS)
  readonly BACKGROUND_LEASE: number = 30;

  /**
   * Maximum number of attempts to run a background turn whose processes die. After that the response fails. A process that is
   * shut down hands its turns back, which is not counted.
   */
  @WholeNumber(1, 1000)
  readonly BACKGROUND_MAX_ATTEMPTS: number = 3;

  /** How long after the end of a background response its stream can be read again, seconds. */
  @WholeNumber(1, LONGEST_TTL_SECONDS)
  readonly EVENT_LOG_TTL: number = 3600;

  // Section: Usage

  /** How long is kept what turns have used, days; see docs/usage.md. 0: nothing is recorded, and what there is goes. */
  @WholeNumber(0, 3660)
  readonly USAGE_RETENTION_DAYS: number = 90;

  // Section: Webhooks

  /**
   * Where to announce the end of each background response, as OpenAI's webhooks do; see docs/webhooks.md. `https://` only, and no
   * private address. Empty: nowhere.
   */
  @Text()
  readonly WEBHOOK_URL: string = '';

  /** Signs the webhooks: `whsec_` and at least 24 bytes in base64, such as `whsec_$(openssl rand -base64 32)`. */
  @Text()
  readonly WEBHOOK_SECRET: string = '';

  /** Allows a WEBHOOK_URL on this machine, also with `http://`. For development. */
  @Flag()
  readonly WEBHOOK_ALLOW_LOOPBACK: boolean = false;

  /** How long an attempt to send a webhook may take. */
  @Milliseconds(1)
  readonly WEBHOOK_TIMEOUT_MS: number = 10_000;

  /** Maximum number of attempts to send a webhook. The pauses grow from 10 seconds to 2 hours: by default they last a day. */
  @WholeNumber(1, 1000)
  readonly WEBHOOK_MAX_ATTEMPTS: number = 21;

  // Section: Streams

  /**
   * Names of reasoning events on streams and sockets: `openai` has `response.reasoning_text.delta` and `.done`. `openresponses`
   * sends `response.reasoning.delta` and `.done` instead, for test suites that know only the Open Responses specification;
   * OpenAI's SDKs do not know these.
   */
  @Choice('openai', 'openresponses')
  readonly EVENT_NAMES: 'openai' | 'openresponses' = 'openai';

  /** Silence on a stream before a `keepalive` event is sent. */
  @Milliseconds(1)
  readonly SSE_KEEPALIVE_MS: number = 15_000;

  /** How long a client may read nothing of an answer that is waiting for it. After that the connection is closed. */
  @Milliseconds(1)
  readonly CLIENT_STALL_TIMEOUT_MS: number = 120_000;

  // Section: WebSocket connections

  /**
   * WebSocket mode on the path of `POST /responses`. If false, upgrades are answered with 426, which makes Codex use
   * HTTP.
   */
  @Flag()
  readonly WS_ENABLED: boolean = true;

  /** Maximum number of WebSocket connections per process. */
  @WholeNumber(1)
  readonly WS_MAX_CONNECTIONS: number = 100;

  /**
   * Maximum number of WebSocket connections per tenant, over all replicas that share a state. `sockets` of LIMITS_FILE goes before it.
   * 0: only WS_MAX_CONNECTIONS applies.
   */
  @WholeNumber(0)
  readonly WS_MAX_CONNECTIONS_PER_TENANT: number = 0;

  /** Lifetime of a connection. */
  @Milliseconds(1)
  readonly WS_MAX_LIFETIME_MS: number = 3_600_000;

  /**
   * How long before the end of its lifetime a connection gets a `connection_expiring` frame. 0, or WS_MAX_LIFETIME_MS
   * and more: never.
   */
  @Milliseconds(0)
  readonly WS_EXPIRY_NOTICE_MS: number = 300_000;

  /** How long running turns may continue after the lifetime of their connection. New turns are refused meanwhile. */
  @Milliseconds(0)
  readonly WS_EXPIRY_GRACE_MS: number = 30_000;

  /**
   * Close code for connections that expired or were retired. The official SDKs, if told to reconnect, do so on 1001 but
   * not on 1000.
   */
  @WholeNumber(1000, 4999)
  readonly WS_EXPIRY_CLOSE_CODE: number = 1000;

  /** Closes a connection without a running turn or a message for this long. 0: never. */
  @Milliseconds(0)
  readonly WS_IDLE_TIMEOUT_MS: number = 0;

  /** Interval of pings. A connection without a sign of life for two pings is closed. */
  @Milliseconds(1)
  readonly WS_PING_INTERVAL_MS: number = 25_000;

  /** Silence within a turn before a `keepalive` event is sent, for clients that ignore pings. */
  @Milliseconds(1)
  readonly WS_KEEPALIVE_MS: number = 60_000;

  /**
   * Tells clients on sockets, with events `antiphon.upstream`, when an upstream with the Responses API is asked again or falls back to HTTP;
   * see docs/upstreams.md.
   */
  @Flag()
  readonly WS_UPSTREAM_NOTICES: boolean = false;

  /** Largest message from a client, after decompression. A larger one closes the connection with 1009. */
  @WholeNumber(1024, 1024 * MEGABYTE)
  readonly WS_MAX_MESSAGE_BYTES: number = 16 * MEGABYTE;

  /** Compresses messages (permessage-deflate) for clients that offer it. */
  @Flag()
  readonly WS_COMPRESSION: boolean = true;

  /**
   * What happens to a `response.create` without `stream_id` while another one runs: it is refused with 409
   * `concurrent_request`, or queued.
   */
  @Choice('reject', 'queue')
  readonly WS_OVERLAP: 'reject' | 'queue' = 'reject';

  /** Makes turns on sockets that name a session hold its lock, as turns over HTTP do. */
  @Flag()
  readonly WS_SESSION_LOCK: boolean = false;

  /** Maximum number of queued turns per connection. Further turns are refused with 429 `too_many_queued_requests`. */
  @WholeNumber(0)
  readonly WS_QUEUE_MAX_TURNS: number = 128;

  /** Maximum size of the queued turns per connection. */
  @WholeNumber(1024)
  readonly WS_QUEUE_MAX_BYTES: number = 64 * MEGABYTE;

  /** Maximum size of the queued turns of all connections. */
  @WholeNumber(1024)
  readonly WS_QUEUE_TOTAL_BYTES: number = 256 * MEGABYTE;

  /** Maximum estimated size of the transcripts cached per connection. Beyond it the oldest lanes are dropped. */
  @WholeNumber(1024)
  readonly WS_CACHE_MAX_BYTES: number = 64 * MEGABYTE;

  /** Maximum estimated size of the transcripts cached for all connections. */
  @WholeNumber(1024)
  readonly WS_CACHE_TOTAL_BYTES: number = 512 * MEGABYTE;

  /**
   * Maximum unread output per connection. Beyond it the connection is closed with 1013. Models are paused long before.
   */
  @WholeNumber(1024)
  readonly WS_MAX_BUFFERED_BYTES: number = 16 * MEGABYTE;

  // Section: Metrics

  /** Serves metrics for Prometheus at `/metrics`, for keys with the scope `admin`; see docs/operations.md. */
  @Flag()
  readonly METRICS: boolean = false;

  /**
   * Port that serves the metrics without authentication; 0: none. With WORKERS, the port of the first worker: the others have the ports
   * after it.
   */
  @WholeNumber(0, HIGHEST_PORT)
  readonly METRICS_PORT: number = 0;

  /** Address of METRICS_PORT. Empty: that of HOST. */
  @Text()
  readonly METRICS_HOST: string = '';

  /** Counts turns by tenant, too: a series for each of up to 200 tenants. */
  @Flag()
  readonly METRICS_TENANTS: boolean = false;

  // Section: Shutdown

  /**
   * Time between SIGTERM and the refusal of new turns. `/readyz` answers 503 meanwhile, so that load balancers can move
   * away.
   */
  @Milliseconds(0)
  readonly SHUTDOWN_DELAY_MS: number = 0;

  /** How long running turns may continue after that. Then they fail. */
  @Milliseconds(0)
  readonly DRAIN_TIMEOUT_MS: number = 30_000;

  /**
   * How long the rest of a shutdown may take, such as the hooks of a program. After SHUTDOWN_DELAY_MS, DRAIN_TIMEOUT_MS
   * and this time the process ends with exit code 1, whatever still runs. A worker that hangs is killed a second later.
   */
  @Milliseconds(0)
  readonly SHUTDOWN_MARGIN_MS: number = 10_000;

  // Section: Traces

  /**
   * Collector of OpenTelemetry, such as `http://127.0.0.1:4318`, to which spans of turns are sent over OTLP; see docs/operations.md. The exporter
   * reads further variables of OpenTelemetry itself, such as OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES. Empty: no traces.
   */
  @Text()
  readonly OTEL_EXPORTER_OTLP_ENDPOINT: string = '';

  /** The whole URL for traces, if it is not `/v1/traces` of OTEL_EXPORTER_OTLP_ENDPOINT. */
  @Text()
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string = '';

  /** Whether metrics are sent to the collector, too; see docs/operations.md. */
  @Choice('none', 'otlp')
  readonly OTEL_METRICS_EXPORTER: 'none' | 'otlp' = 'none';

  /** The whole URL for metrics, if it is not `/v1/metrics` of OTEL_EXPORTER_OTLP_ENDPOINT. */
  @Text()
  readonly OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: string = '';

  /** How often metrics are sent. */
  @Milliseconds(1000)
  readonly OTEL_METRIC_EXPORT_INTERVAL: number = 60_000;

  /** The name of the service in traces and metrics. */
  @Text()
  readonly OTEL_SERVICE_NAME: string = 'antiphon';

  /** The share of traces that are recorded, from 0 to 1, where the client has not decided. */
  @Share()
  readonly OTEL_TRACES_SAMPLER_ARG: number = 1;

  // Section: Recording

  /**
   * File to which the answers of providers are appended, as a script for the simulator. The simulator itself is not
   * recorded. Empty: nothing is recorded.
   */
  @Text()
  readonly RECORD_FILE: string = '';

  /**
   * Directory of the recordings that clients start and stop with SIMULATOR_CONTROL=true, each tenant in a folder of its own; it is created
   * when it does not exist. Empty: there are none.
   */
  @Text()
  readonly RECORD_DIR: string = '';
}
