import { hash } from 'node:crypto';

import type { Logger } from '@nestjs/common';

import { hostOf } from '../../config/index.js';
import { SHORTEST_SECRET } from '../../providers/index.js';
import type { Clock } from '../../time/index.js';
import type { HttpClient } from './bounded-fetch.js';
import { CalledServer } from './called-server.js';
import { toHeaders } from './headers.js';
import type { McpObserver } from './mcp-observer.js';
import type { McpToolParam } from './mcp-server.js';
import { OAuthTokens } from './oauth-tokens.js';
import { ServerConnections } from './server-connections.js';
import { DEFAULTS, type McpServerEntry } from './servers-file.js';
import type { CallTokens } from './tool-call.js';
import { secretsInUrl } from './url-secrets.js';

/** Servers that requests share: of so many tenants, labels and descriptions. */
const MOST_SHARED = 1000;

/** What a server is reached with. */
export interface RunningServerParts {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: McpObserver | null;
}

/** A request for a server: the tool that names it, who asks, and the credentials that the request brings. */
export interface ServerRequest {
  readonly tool: McpToolParam;
  readonly tenant: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is exchanged for a token of the server; null where that is not needed. */
  readonly callerToken: string | null;
}

/** A server with its connections, for all who use it. */
export class RunningServer {
  readonly url: URL;
  readonly connections: ServerConnections;
  /** Headers that requests may set; undefined: all, as the operator has given no credentials that they could act with. */
  readonly forwardable: ReadonlySet<string> | undefined;
  private readonly oauth: OAuthTokens | null;
  /** The parts of the server's URL that are credentials. */
  private readonly urlSecrets: readonly string[];
  /** For requests without credentials of their own, by tenant, label and description. */
  private readonly shared = new Map<string, CalledServer>();

  /** `label`: also the name in metrics. */
  constructor(
    readonly label: string,
    readonly entry: McpServerEntry,
    private readonly parts: RunningServerParts,
  ) {
    const { http, clock } = parts;
    const { timeouts = {}, oauth } = entry;
    this.url = new URL(entry.url);
    this.urlSecrets = secretsInUrl(this.url);
    this.forwardable = forwardableOf(entry);
    this.oauth = oauth === undefined ? null : new OAuthTokens(oauth, http.bounded(DEFAULTS.maxResponseBytes), clock);
    this.connections = new ServerConnections(
      {
        maxConnections: entry.max_connections ?? DEFAULTS.maxConnections,
        maxRequests: entry.max_requests ?? DEFAULTS.maxRequests,
        connectMs: timeouts.connect_ms ?? DEFAULTS.connectMs,
        idleMs: timeouts.idle_ms ?? DEFAULTS.idleMs,
      },
      clock,
    );
  }

  /** Whether its tokens are exchanged for those of callers. */
  get needsCaller(): boolean {
    return this.oauth?.needsCaller === true;
  }

  /** The server with the credentials of a request and of the operator. Requests that bring none share it. */
  called(request: ServerRequest): CalledServer {
    const { tool, tenant, headers, callerToken } = request;
    if (callerToken !== null || Object.keys(headers).length > 0) return this.make(request);
    const { server_label: label, server_description: description = null } = tool;
    const key = JSON.stringify([tenant, label, description]);
    const known = this.shared.get(key) ?? this.make(request);
    if (this.shared.size >= MOST_SHARED) this.shared.clear();
    this.shared.set(key, known);
    return known;
  }

  private make({ tool, tenant, headers: own, callerToken }: ServerRequest): CalledServer {
    const { entry, url, connections } = this;
    const { timeouts = {} } = entry;
    const { http, ...parts } = this.parts;
    const headers = { ...toHeaders(entry.headers ?? {}, entry.authorization), ...own };
    // A token of the request takes the place of the operator's.
    const tokens = own['authorization'] === undefined ? this.tokensFor(callerToken) : null;
    // Shorter texts are parts of many others.
    const secrets = [
      ...Object.values(headers).flatMap((value) => [value, ...value.split(' ')]),
      ...this.urlSecrets,
      entry.oauth?.client_secret ?? '',
      callerToken ?? '',
    ].filter(({ length }) => length >= SHORTEST_SECRET);
    return new CalledServer({
      ...parts,
      label: tool.server_label,
      description: tool.server_description ?? entry.description ?? null,
      identity: hash('sha256', JSON.stringify([tool.server_label, url.href]), 'base64url'),
      metricLabel: this.label,
      entry,
      limits: {
        listMs: timeouts.list_ms ?? DEFAULTS.listMs,
        callMs: timeouts.call_ms ?? DEFAULTS.callMs,
        listMaxAgeMs: entry.list_max_age_ms ?? DEFAULTS.listMaxAgeMs,
      },
      connections,
      key: () => keyOf(tenant, headers, callerToken),
      settings: {
        url,
        transport: entry.transport ?? 'auto',
        headers,
        tokens,
        http,
        mostBytes: entry.max_response_bytes ?? DEFAULTS.maxResponseBytes,
      },
      secrets: tokens === null ? () => secrets : () => tokens.secretsBeside(secrets),
      hidden: [url.host, hostOf(url), ...(url.search.length < SHORTEST_SECRET ? [] : [url.search])],
    });
  }

  private tokensFor(callerToken: string | null): SentTokens | null {
    return this.oauth && new SentTokens(this.oauth, callerToken);
  }
}

/** The tokens that are sent for one caller, or for the service itself. */
class SentTokens implements CallTokens {
  /** All that is kept secret, with the tokens that it has. */
  private known: { readonly sent: readonly string[]; readonly secrets: readonly string[] } | null = null;

  constructor(
    private readonly oauth: OAuthTokens,
    private readonly callerToken: string | null,
  ) {}

  token(): Promise<string> {
    return this.oauth.get(this.callerToken);
  }

  refused(token: string | null): void {
    this.oauth.refused(this.callerToken, token);
  }

  /** The tokens, whichever connection has sent them, beside these secrets. The same list until there is another token. */
  secretsBeside(secrets: readonly string[]): readonly string[] {
    const sent = this.oauth.sent(this.callerToken);
    if (this.known?.sent !== sent) this.known = { sent, secrets: [...secrets, ...sent] };
    return this.known.secrets;
  }
}

function forwardableOf({
  headers = {},
  authorization,
  oauth,
  forward,
}: McpServerEntry): ReadonlySet<string> | undefined {
  if (forward !== undefined) return new Set(forward.map((name) => name.toLowerCase()));
  const hasOwn = authorization !== undefined || oauth !== undefined || Object.keys(headers).length > 0;
  return hasOwn ? new Set() : undefined;
}

/** Whose connection it is. A hash, so that no credential outlives its request in a key. */
function keyOf(tenant: string, headers: Readonly<Record<string, string>>, callerToken: string | null): string {
  const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([tenant, sorted, callerToken]), 'base64url');
}
