import { readFile } from 'node:fs/promises';

import {
  EnvironmentError,
  faultsOf,
  isSafeUrl,
  objectSchema,
  parseSecretFile,
  requireSchema,
  resolveReferences,
} from '../../config/index.js';
import { LONGEST_DELAY_MS } from '../../time/index.js';
import { faultOfHeader } from './headers.js';
import type { McpApproval, McpToolFilter } from './mcp-server.js';

/** The content of MCP_SERVERS (docs/mcp.md). */
export interface ServersFile {
  /** By label. */
  readonly servers?: Readonly<Record<string, McpServerEntry>>;
  /** Labels, by the `connector_id` of requests. */
  readonly connectors?: Readonly<Record<string, string>>;
}

/** A server that the operator names. */
export interface McpServerEntry {
  readonly url: string;
  /** `auto` tries streamable HTTP first, and then the SSE of servers before 2025-03-26. */
  readonly transport?: 'auto' | 'streamable-http' | 'sse';
  /** For requests that have none. */
  readonly description?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A token that is sent as `Bearer`. */
  readonly authorization?: string;
  readonly oauth?: OAuthEntry;
  /** Headers that requests may set; `authorization` stands for the member of that name, too. */
  readonly forward?: readonly string[];
  /** Who may use it; undefined: everybody. */
  readonly tenants?: readonly string[];
  /** Names of the tools that are offered; undefined: all. */
  readonly tools?: readonly string[];
  readonly require_approval?: McpApproval | ApprovalRules;
  readonly timeouts?: TimeoutsEntry;
  /** Open connections to the server, over all tenants. */
  readonly max_connections?: number;
  /** Calls and lists at once, over all tenants. */
  readonly max_requests?: number;
  /** Bytes of one answer of the server. */
  readonly max_response_bytes?: number;
  /** Age from which a list is made anew, ms. */
  readonly list_max_age_ms?: number;
}

/** What counts for a server unless its operator says otherwise. */
export const DEFAULTS = {
  connectMs: 10_000,
  listMs: 30_000,
  callMs: 60_000,
  idleMs: 5 * 60_000,
  maxConnections: 100,
  maxRequests: 64,
  maxResponseBytes: 4 * 1024 * 1024,
  listMaxAgeMs: 60 * 60_000,
} as const;

/** Which tools need an approval. A tool of neither list is up to the request. */
interface ApprovalRules {
  readonly always?: McpToolFilter;
  readonly never?: McpToolFilter;
}

/** How the service gets its tokens for a server. */
export interface OAuthEntry {
  readonly token_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** `token_exchange` (RFC 8693) turns the token of the caller into one for the server. */
  readonly grant?: 'client_credentials' | 'token_exchange';
  readonly scope?: string;
  readonly audience?: string;
  readonly resource?: string;
}

/** Time limits, ms. */
interface TimeoutsEntry {
  /** The handshake with a server. */
  readonly connect_ms?: number;
  /** All pages of a list. */
  readonly list_ms?: number;
  /** A call, from its begin or its last progress notification. */
  readonly call_ms?: number;
  /** How long a connection without requests stays open. */
  readonly idle_ms?: number;
}

const text = { type: 'string', minLength: 1 };
const names = { type: 'array', items: text, uniqueItems: true };
const count = { type: 'integer', minimum: 1, maximum: 65_535 };
const milliseconds = { type: 'integer', minimum: 1, maximum: LONGEST_DELAY_MS };
const url = {
  type: 'string',
  pattern: '^https?://[^@/?#]+([/?][^@]*)?$',
  description: 'must be an http or https URL without a user',
};
const filter = objectSchema({ tool_names: names, read_only: { type: 'boolean' } }, { minProperties: 1 });

const server = objectSchema(
  {
    url,
    transport: { enum: ['auto', 'streamable-http', 'sse'] },
    description: text,
    headers: { type: 'object', additionalProperties: { type: 'string' } },
    authorization: text,
    oauth: objectSchema(
      {
        token_url: url,
        client_id: text,
        client_secret: text,
        grant: { enum: ['client_credentials', 'token_exchange'] },
        scope: text,
        audience: text,
        resource: text,
      },
      { required: ['token_url', 'client_id', 'client_secret'] },
    ),
    forward: names,
    tenants: { ...names, minItems: 1 },
    tools: names,
    require_approval: { anyOf: [{ enum: ['always', 'never'] }, objectSchema({ always: filter, never: filter })] },
    timeouts: objectSchema({
      connect_ms: milliseconds,
      list_ms: milliseconds,
      call_ms: milliseconds,
      idle_ms: milliseconds,
    }),
    max_connections: count,
    max_requests: count,
    max_response_bytes: { type: 'integer', minimum: 1024, maximum: 256 * 1024 * 1024 },
    list_max_age_ms: milliseconds,
  },
  { required: ['url'] },
);

/** The JSON Schema of the file. */
const SERVERS_SCHEMA = objectSchema({
  servers: {
    type: 'object',
    additionalProperties: server,
    propertyNames: {
      pattern: '^[A-Za-z][\\w-]{0,63}$',
      description: 'must be named with a letter and up to 63 letters, digits, - and _',
    },
  },
  connectors: { type: 'object', additionalProperties: text },
});

/**
 * Reads and validates MCP_SERVERS. Throws EnvironmentError with all faults and their places, without quoting the file, which contains
 * credentials.
 */
export async function readServersFile(path: string): Promise<ServersFile> {
  const refuse = (faults: readonly string[]): EnvironmentError =>
    new EnvironmentError(faults.map((fault) => `MCP_SERVERS: ${path}: ${fault}.`));
  try {
    const content = await parseSecretFile(path, await readFile(path, 'utf8'));
    const { value, unset } = resolveReferences(content, process.env);
    if (unset.length > 0) throw refuse(unset);
    const file = requireSchema<ServersFile>(value ?? {}, SERVERS_SCHEMA, { isSecret: true });
    const { servers = {}, connectors = {} } = file;
    const faults = [
      ...Object.entries(servers).flatMap(([label, entry]) =>
        [...faultsOfServer(entry)].map((fault) => `servers.${label}.${fault}`),
      ),
      ...Object.entries(connectors).flatMap(([id, label]) =>
        Object.hasOwn(servers, label) ? [] : [`connectors.${id} must be the label of a server`],
      ),
    ];
    if (faults.length > 0) throw refuse(faults);
    return file;
  } catch (error) {
    throw error instanceof EnvironmentError ? error : refuse(faultsOf(error));
  }
}

/** What no schema can say. */
function* faultsOfServer({ url, headers = {}, authorization, oauth, forward = [] }: McpServerEntry): Generator<string> {
  if (!URL.canParse(url)) yield 'url must be an http or https URL';
  for (const [name, value] of Object.entries(headers)) {
    const fault = faultOfHeader(name, value);
    if (fault !== undefined) yield `headers ${fault}`;
  }
  for (const [index, name] of forward.entries()) {
    if (faultOfHeader(name, '') !== undefined) yield `forward[${index}] must be a header that clients may set`;
  }
  if (authorization !== undefined && faultOfHeader('authorization', authorization) !== undefined) {
    yield 'authorization must be a token';
  }
  const own = [
    authorization !== undefined,
    oauth !== undefined,
    Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'),
  ];
  if (own.filter(Boolean).length > 1) yield 'authorization must be given in one way: authorization, headers or oauth';
  if (oauth !== undefined && !isSafeUrl(oauth.token_url)) yield 'oauth.token_url must begin with https://';
}
