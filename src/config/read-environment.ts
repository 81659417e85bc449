import { isIP } from 'node:net';

import { hostOf, isLoopback, isNetwork, isPublicAddress, isSafeUrl } from './addresses.js';
import { Environment } from './environment.js';
import { digestOfKey, faultOfSealKeys, hasCredentials } from './keys.js';
import { readVariables, type VariableCheck, type Variables } from './read-variables.js';
import { faultOfRedisUrl } from './redis-url.js';
import { HIGHEST_PORT } from './variables.js';

/** Backends whose state belongs to one process, and what more of them would do. */
const STATES_OF_ONE_PROCESS: ReadonlyMap<string, string> = new Map([
  [
    'memory',
    'With STATE=memory each worker finds only its own responses, so previous_response_id would fail at random.',
  ],
  ['sqlite', 'With STATE=sqlite, the default of npm start, one process has the file to itself.'],
]);

/** Where a collector may be. */
const OTLP_URLS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
] as const;

const CHECKS: readonly VariableCheck<Environment>[] = [
  [
    ['API_KEYS'],
    ({ API_KEYS }) => {
      const position = API_KEYS.findIndex(
        (entry) => !/^[^:]+:(?:sha256:[0-9a-f]{64}|(?!sha256:)[\x21-\x7e]+)$/i.test(entry),
      );
      if (position >= 0) return `API_KEYS: entry ${position + 1} is not tenant:key or tenant:sha256:<64 hex digits>.`;
      const keys = API_KEYS.map((entry) => digestOfKey(entry.slice(entry.indexOf(':') + 1)).toString('hex'));
      const repeated = keys.findIndex((key, index) => keys.indexOf(key) !== index);
      return repeated < 0 ? undefined : `API_KEYS: entry ${repeated + 1} repeats a key; a key belongs to one tenant.`;
    },
  ],
  [
    ['CORS_ORIGINS'],
    ({ CORS_ORIGINS }) => {
      const isOrigin = (entry: string): boolean => URL.canParse(entry) && new URL(entry).origin === entry;
      const position = CORS_ORIGINS.findIndex((entry) => entry !== '*' && !isOrigin(entry));
      return position < 0
        ? undefined
        : `CORS_ORIGINS: entry ${position + 1} is not an origin such as https://app.example.com.`;
    },
  ],
  [
    ['BODY_LIMIT_BYTES', 'WS_MAX_MESSAGE_BYTES', 'BODY_TOTAL_BYTES'],
    ({ BODY_LIMIT_BYTES, WS_MAX_MESSAGE_BYTES, BODY_TOTAL_BYTES }) => {
      if (Math.max(BODY_LIMIT_BYTES, WS_MAX_MESSAGE_BYTES) <= BODY_TOTAL_BYTES) return undefined;
      return 'BODY_TOTAL_BYTES: must not be less than BODY_LIMIT_BYTES and WS_MAX_MESSAGE_BYTES, which one request may take.';
    },
  ],
  [
    ['FILE_INPUT_MAX_BYTES', 'FILE_INPUT_TOTAL_BYTES'],
    ({ FILE_INPUT_MAX_BYTES, FILE_INPUT_TOTAL_BYTES }) =>
      FILE_INPUT_MAX_BYTES > FILE_INPUT_TOTAL_BYTES
        ? 'FILE_INPUT_TOTAL_BYTES: must not be less than FILE_INPUT_MAX_BYTES, which one turn may take.'
        : undefined,
  ],
  [
    ['STATE', 'DATABASE_URL'],
    ({ STATE, DATABASE_URL }) =>
      STATE === 'postgres' && !isDatabaseUrl(DATABASE_URL)
        ? 'DATABASE_URL: expected postgres://user:password@host/database for STATE=postgres.'
        : undefined,
  ],
  [
    ['DATABASE_DIRECT_URL'],
    ({ DATABASE_DIRECT_URL: url }) =>
      url !== '' && !isDatabaseUrl(url)
        ? 'DATABASE_DIRECT_URL: expected postgres://user:password@host/database.'
        : undefined,
  ],
  [
    ['VECTOR_STORE_URL', 'WORKERS'],
    ({ VECTOR_STORE_URL: url, WORKERS }) => {
      const isFile = /^sqlite:./.test(url);
      if (isFile && WORKERS > 1) return 'VECTOR_STORE_URL: sqlite: needs WORKERS=1. Only one process can use the file.';
      return url === '' || isFile || isDatabaseUrl(url)
        ? undefined
        : 'VECTOR_STORE_URL: expected sqlite:<directory> or postgres://user:password@host/database.';
    },
  ],
  [
    ['S3_BUCKET', 'S3_ENDPOINT'],
    ({ S3_BUCKET: bucket, S3_ENDPOINT: endpoint }) => {
      if (endpoint !== '' && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) {
        return 'S3_ENDPOINT: expected a URL such as https://minio.example.com:9000.';
      }
      return endpoint !== '' && bucket === '' ? 'S3_ENDPOINT: needs S3_BUCKET, the name of a bucket there.' : undefined;
    },
  ],
  [
    ['STATE', 'REDIS_URL'],
    ({ STATE, REDIS_URL: url }) => {
      const fault = STATE === 'redis' || url !== '' ? faultOfRedisUrl(url) : undefined;
      return fault === undefined ? undefined : `REDIS_URL: ${fault}`;
    },
  ],
  [
    ['WORKERS', 'STATE'],
    ({ WORKERS, STATE }) => {
      const reason = STATES_OF_ONE_PROCESS.get(STATE);
      if (WORKERS === 1 || reason === undefined) return undefined;
      return `WORKERS: more than 1 needs STATE=postgres or STATE=redis. ${reason}`;
    },
  ],
  [
    ['BACKGROUND_MAX_RUNNING', 'STATE'],
    ({ BACKGROUND_MAX_RUNNING, STATE }) => {
      if (BACKGROUND_MAX_RUNNING > 0 || !STATES_OF_ONE_PROCESS.has(STATE)) return undefined;
      return `BACKGROUND_MAX_RUNNING: 0 needs STATE=postgres or STATE=redis. With STATE=${STATE} no other process can run the turns.`;
    },
  ],
  [
    ['RESPONSE_TTL', 'RESPONSE_TTL_MAX'],
    ({ RESPONSE_TTL, RESPONSE_TTL_MAX }) =>
      RESPONSE_TTL > RESPONSE_TTL_MAX ? 'RESPONSE_TTL: must not be more than RESPONSE_TTL_MAX.' : undefined,
  ],
  [
    ['SEAL_KEYS'],
    ({ SEAL_KEYS }) => {
      const fault = faultOfSealKeys(SEAL_KEYS);
      return fault === undefined ? undefined : `SEAL_KEYS: ${fault}`;
    },
  ],
  [
    ['WEBHOOK_URL', 'WEBHOOK_ALLOW_LOOPBACK'],
    ({ WEBHOOK_URL: url, WEBHOOK_ALLOW_LOOPBACK: allowsLoopback }) => {
      const fault = url === '' ? undefined : faultOfWebhookUrl(url, allowsLoopback);
      return fault === undefined ? undefined : `WEBHOOK_URL: ${fault}`;
    },
  ],
  [
    ['WEBHOOK_SECRET'],
    ({ WEBHOOK_URL: url, WEBHOOK_SECRET: secret }) => {
      const fault = url === '' ? undefined : faultOfWebhookSecret(secret);
      return fault === undefined ? undefined : `WEBHOOK_SECRET: ${fault}`;
    },
  ],
  [
    ['WS_EXPIRY_CLOSE_CODE'],
    ({ WS_EXPIRY_CLOSE_CODE: code }) => {
      const isSendable = code >= 3000 || (code <= 1014 && ![1004, 1005, 1006].includes(code));
      return isSendable ? undefined : `WS_EXPIRY_CLOSE_CODE: ${code} is not a close code that a server may send.`;
    },
  ],
  [
    ['METRICS_PORT', 'METRICS_HOST', 'PORT', 'HOST', 'WORKERS'],
    ({ METRICS_PORT: first, METRICS_HOST: host, PORT, HOST, WORKERS }) => {
      const last = first + WORKERS - 1;
      const ports = last === first ? `port ${first}` : `ports ${first} to ${last}`;
      if (first > 0 && last > HIGHEST_PORT) return `METRICS_PORT: the metrics take the ${ports}: choose a lower one.`;
      if (first === 0 || PORT < first || PORT > last || (host !== '' && host !== HOST)) return undefined;
      return `METRICS_PORT: the metrics take the ${ports}, and PORT is ${PORT}: choose another one.`;
    },
  ],
  [
    ['HOST', 'API_KEYS', 'KEYS_FILE', 'JWT_ISSUER', 'ALLOW_OPEN'],
    (environment) => {
      const { HOST, ALLOW_OPEN } = environment;
      if (hasCredentials(environment) || ALLOW_OPEN || HOST === '' || isLoopback(HOST)) return undefined;
      return `HOST: '${HOST}' is public, but there are no API_KEYS. Set API_KEYS or KEYS_FILE, or ALLOW_OPEN=true to allow access without a key.`;
    },
  ],
  [
    ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'],
    ({ JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: keys }) => {
      if (issuer === '')
        return audience === '' && keys === '' ? undefined : 'JWT_ISSUER: must be set with JWT_AUDIENCE.';
      if (audience === '')
        return 'JWT_AUDIENCE: must be set with JWT_ISSUER: tokens for other services would be accepted.';
      const unsafe = [issuer, keys].find((url) => url !== '' && !isSafeUrl(url));
      if (unsafe === undefined) return undefined;
      return `${unsafe === issuer ? 'JWT_ISSUER' : 'JWT_JWKS_URL'}: expected an https URL, or http on this machine.`;
    },
  ],
  [
    ['JWT_ALGORITHMS'],
    ({ JWT_ALGORITHMS }) => {
      const wrong = JWT_ALGORITHMS.find((name) => !/^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/.test(name));
      if (JWT_ALGORITHMS.length > 0 && wrong === undefined) return undefined;
      return 'JWT_ALGORITHMS: expected algorithms with public keys, such as RS256,ES256,EdDSA.';
    },
  ],
  [
    OTLP_URLS,
    (environment) => {
      const wrong = OTLP_URLS.find(
        (name) => environment[name] !== '' && !/^https?:$/.test(URL.parse(environment[name])?.protocol ?? ''),
      );
      return wrong === undefined ? undefined : `${wrong}: expected a URL such as http://127.0.0.1:4318.`;
    },
  ],
  [
    ['OTEL_METRICS_EXPORTER', ...OTLP_URLS],
    (environment) => {
      const {
        OTEL_METRICS_EXPORTER,
        OTEL_EXPORTER_OTLP_ENDPOINT: base,
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: own,
      } = environment;
      if (OTEL_METRICS_EXPORTER === 'none' || base !== '' || own !== '') return undefined;
      return 'OTEL_METRICS_EXPORTER: otlp needs OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_METRICS_ENDPOINT.';
    },
  ],
  [
    ['DOOR_TOOLS', 'MCP_SERVERS'],
    ({ DOOR_TOOLS: tools, MCP_SERVERS: servers }) => {
      const wrong = tools.findIndex((name) => !/^(?:web_search|mcp:.+)$/.test(name));
      if (wrong !== -1) return `DOOR_TOOLS: entry ${wrong + 1} is neither web_search nor mcp:<server>.`;
      if (servers !== '' || tools.every((name) => name === 'web_search')) return undefined;
      return 'DOOR_TOOLS: mcp:<server> needs MCP_SERVERS.';
    },
  ],
  [
    ['TRUSTED_PROXIES'],
    ({ TRUSTED_PROXIES }) => {
      const position = TRUSTED_PROXIES.findIndex((entry) => !isNetwork(entry));
      return position < 0
        ? undefined
        : `TRUSTED_PROXIES: entry ${position + 1} is neither an address nor a network such as 10.0.0.0/8.`;
    },
  ],
  [
    ['CORS_ORIGINS', 'API_KEYS', 'KEYS_FILE', 'JWT_ISSUER'],
    (environment) => {
      if (!environment.CORS_ORIGINS.includes('*') || hasCredentials(environment)) return undefined;
      return 'CORS_ORIGINS: * without API_KEYS would let any web page use the service.';
    },
  ],
];

/** Violations never quote the URL: it contains a password. */
function isDatabaseUrl(text: string): boolean {
  return /^postgres(?:ql)?:$/.test(URL.parse(text)?.protocol ?? '');
}

/** Reads and checks the environment. Throws EnvironmentError with all violations. */
export function readEnvironment(variables: Variables): Environment {
  return readVariables(Environment, variables, CHECKS);
}

/** Shortest key in bytes that Standard Webhooks allows. */
const SHORTEST_KEY = 24;

const SECRET_PREFIX = 'whsec_';

/** What WEBHOOK_URL should be instead, or undefined. The URL is never quoted: it may hold a token. */
function faultOfWebhookUrl(text: string, allowsLoopback: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'expected a URL such as https://app.example.com/webhooks.';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password.';
  const host = hostOf(url);
  if (isLoopback(host)) {
    if (!allowsLoopback) return 'a loopback address is only allowed with WEBHOOK_ALLOW_LOOPBACK=true.';
    return /^https?:$/.test(url.protocol) ? undefined : 'expected https:// or http://.';
  }
  if (url.protocol !== 'https:') return 'expected https://.';
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'must not be a private or reserved address.';
  return undefined;
}

/** What WEBHOOK_SECRET should be instead, or undefined. It is never quoted. */
function faultOfWebhookSecret(secret: string): string | undefined {
  const base64 = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  const key = Buffer.from(base64, 'base64');
  // Buffer skips what is not base64.
  if (key.toString('base64') === base64 && key.byteLength >= SHORTEST_KEY) return undefined;
  return `expected ${SECRET_PREFIX} and at least ${SHORTEST_KEY} bytes in base64 for WEBHOOK_URL, such as "${SECRET_PREFIX}$(openssl rand -base64 32)".`;
}
