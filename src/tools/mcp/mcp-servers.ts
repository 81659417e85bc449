import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit, Optional } from '@nestjs/common';

import { Environment, EnvironmentError, firstLineOf, ReloadedFile } from '../../config/index.js';
import { faultOfPublicUrl } from '../../http/outbound/index.js';
import { ApiError } from '../../protocol/index.js';
import { requirePackages } from '../../require-packages.js';
import { Clock } from '../../time/index.js';
import { didYouMean } from '../../validation/index.js';
import type { HttpClient } from './bounded-fetch.js';
import { faultOfHeader, toHeaders } from './headers.js';
import { McpObserver } from './mcp-observer.js';
import { McpListError, type McpServer, type McpToolParam } from './mcp-server.js';
import { OwnServers } from './own-servers.js';
import { RunningServer, type RunningServerParts } from './running-server.js';
import { type McpServerEntry, readServersFile, type ServersFile } from './servers-file.js';

/** The library of the protocol. */
const MCP_PACKAGE = '@modelcontextprotocol/client';

/** Servers of clients whose connections are kept, over all tenants. */
const MOST_CLIENT_SERVERS = 1000;

/** Stands for all servers of clients in metrics. */
const CLIENT_LABEL = 'client';

/** What is known of a server, for `/readyz?verbose`. */
export interface McpServerCondition {
  readonly name: string;
  /** Connections that are open, or about to be. */
  readonly connections: number;
  /** Why its latest request got no answer, without addresses and credentials; null if it got one, or there was none. */
  readonly error: string | null;
}

/** What a server has answered when it was asked for its tools. */
export interface McpServerAnswer {
  readonly name: string;
  /** Number of tools that are offered; null without an answer. */
  readonly tools: number | null;
  /** Why there is no answer; null also for a server that was not asked, as it needs the token of a caller. */
  readonly error: string | null;
  /** Tools that its entry names and it does not have. */
  readonly unlisted: readonly string[];
  /** The names of the tools that it has. */
  readonly listed: readonly string[];
}

/** What MCP_SERVERS names: servers by their labels, and labels by connector. */
interface OperatorServers {
  readonly servers: ReadonlyMap<string, RunningServer>;
  readonly connectors: ReadonlyMap<string, string>;
}

const NO_SERVERS: OperatorServers = { servers: new Map(), connectors: new Map() };

/** The servers of tools: those of MCP_SERVERS, of the program itself, and of clients as far as MCP_CLIENT_URLS allows. */
@Injectable()
export class McpServers implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('McpServers');
  private readonly requestLogger = new Logger('MCP');
  private readonly clientUrls: Environment['MCP_CLIENT_URLS'];
  private readonly file: ReloadedFile<OperatorServers> | null;
  private readonly observer: McpObserver | null;
  /** Of clients, by tenant and URL, the least recently used first. */
  private readonly ofClients = new Map<string, RunningServer>();
  /** Servers that are closed when no turn uses them any more. */
  private readonly retired = new Set<RunningServer>();
  private http: { readonly trusted: HttpClient; readonly client: HttpClient } | null = null;

  constructor(
    { MCP_SERVERS, MCP_CLIENT_URLS }: Environment,
    private readonly clock: Clock,
    @Optional() @Inject(OwnServers) private readonly own: OwnServers | null = null,
    @Optional() @Inject(McpObserver) observer: McpObserver | null = null,
  ) {
    this.clientUrls = MCP_CLIENT_URLS;
    this.observer = observer;
    const read = async (): Promise<OperatorServers> => this.take(await readServersFile(MCP_SERVERS));
    const count = ({ servers }: OperatorServers): number => servers.size;
    const file = { variable: 'MCP_SERVERS' as const, path: MCP_SERVERS, what: 'servers', read, count };
    this.file = MCP_SERVERS === '' ? null : new ReloadedFile(file, NO_SERVERS, clock, this.logger);
  }

  /** Throws EnvironmentError when MCP_SERVERS is not valid, and where the library of the protocol is not installed. */
  async onModuleInit(): Promise<void> {
    if (this.file === null && this.clientUrls === 'none') return;
    requirePackages(this.file === null ? `MCP_CLIENT_URLS=${this.clientUrls}` : 'MCP_SERVERS', MCP_PACKAGE);
    if (this.clientUrls === 'any') {
      this.logger.warn(
        'MCP_CLIENT_URLS=any: clients can make this service send requests to any address in its network',
      );
    }
    // Loaded on demand: the HTTP client consists of about a hundred files.
    const { HttpClient: Client } = await import('./bounded-fetch.js');
    const isPublic = this.clientUrls !== 'any';
    this.http = { trusted: new Client({ isPublic: false }), client: new Client({ isPublic }) };
    await this.file?.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.file?.stop();
    const all = [...this.running.values(), ...this.ofClients.values(), ...this.retired];
    await Promise.all(all.map(({ connections }) => connections.close()));
    await Promise.all([this.http?.trusted.close(), this.http?.client.close()]);
  }

  /** The conditions of the servers of MCP_SERVERS, in the order of the file. Asks none. */
  conditions(): readonly McpServerCondition[] {
    return [...this.running.values()].map(({ label, connections }) => ({
      name: label,
      connections: connections.size,
      error: connections.error,
    }));
  }

  /** Asks each server of MCP_SERVERS once for its tools, with the operator's credentials. Never rejects. */
  ask(signal: AbortSignal): Promise<readonly McpServerAnswer[]> {
    return Promise.all(
      [...this.running.values()].map(async (server) => {
        const { label: name } = server;
        const nothing = { name, tools: null, unlisted: [], listed: [] };
        if (server.needsCaller) return { ...nothing, error: null };
        try {
          const tool = { type: 'mcp', server_label: name } as const;
          const asked = server.called({ tool, tenant: '', headers: {}, callerToken: null });
          const tools = (await asked.list(signal)).length;
          return { name, tools, error: null, unlisted: asked.unlisted, listed: asked.listed };
        } catch (error) {
          return { ...nothing, error: error instanceof McpListError ? error.reason : firstLineOf(error) };
        }
      }),
    );
  }

  /** Whether the service may run tools of any server. */
  get isOn(): boolean {
    return this.file !== null || this.clientUrls !== 'none' || this.own?.hasTools === true;
  }

  /** Whether the service runs a tool itself; otherwise it is left to the upstream. */
  runs(tool: McpToolParam, tenant: string): boolean {
    if (this.own?.names(tool) === true) return true;
    if (this.known(tool, tenant) !== undefined) return true;
    const { server_url: url, connector_id: connector, tunnel_id: tunnel } = tool;
    if (connector != null || tunnel != null) return false;
    // A label that nobody knows is refused by `find`.
    return url == null || this.clientUrls !== 'none';
  }

  /**
   * The server of a tool. Throws ApiError 400, whose `param` begins with the given one: a server that is unknown or not open to the tenant,
   * a URL that is not allowed, headers that are malformed or not the client's to set.
   *
   * @param param place of the tool in the request, such as `tools[0]`
   * @param callerToken the caller's own token, for servers that exchange it; by default the `authorization` of the tool
   */
  find(tool: McpToolParam, tenant: string, param: string, callerToken?: string): McpServer {
    const own = this.own?.find(tool, tenant, param);
    if (own !== undefined) return own;
    const server = this.known(tool, tenant);
    // What is exchanged is not sent to the server.
    const { authorization, ...shown } = tool;
    const isExchanged = server?.needsCaller === true && server.forwardable?.has('authorization') !== true;
    const headers = headersOf(isExchanged ? shown : tool, param);
    if (server === undefined) {
      const ofClient = this.ofClient(tenant, this.urlOf(tool, tenant, param));
      return ofClient.called({ tool, tenant, headers, callerToken: null });
    }
    const exchanged = isExchanged ? (callerToken ?? authorization ?? undefined) : callerToken;
    const foreign = server.forwardable && Object.keys(headers).find((name) => !server.forwardable?.has(name));
    if (foreign !== undefined) {
      const place = foreign === 'authorization' && tool.authorization != null ? 'authorization' : 'headers';
      const message = `The server '${server.label}' has credentials of its own: requests must not set '${foreign}'.`;
      throw ApiError.badRequest(message, `${param}.${place}`);
    }
    const needsToken = server.needsCaller && headers['authorization'] === undefined;
    if (needsToken && exchanged === undefined) {
      const message = `The server '${server.label}' needs a token of yours: give it as 'authorization'.`;
      throw ApiError.badRequest(message, `${param}.authorization`);
    }
    return server.called({ tool, tenant, headers, callerToken: needsToken ? (exchanged ?? null) : null });
  }

  /** The server of MCP_SERVERS that a tool names, if the tenant may use it: by URL, by connector, or by label alone. */
  private known(tool: McpToolParam, tenant: string): RunningServer | undefined {
    const { server_label: label, server_url: url, connector_id: connector, tunnel_id: tunnel } = tool;
    if (tunnel != null) return undefined;
    const open = (server: RunningServer | undefined): RunningServer | undefined =>
      server?.entry.tenants?.includes(tenant) === false ? undefined : server;
    const named = open(this.running.get(label));
    if (connector != null) return open(this.running.get(this.file?.current.connectors.get(connector) ?? ''));
    if (url == null) return named;
    const asked = URL.parse(url)?.href;
    if (named?.url.href === asked) return named;
    return [...this.running.values()].find((server) => server.url.href === asked && open(server) !== undefined);
  }

  /** The URL that a client has brought, if it may. */
  private urlOf(
    { server_label: label, server_url: text, connector_id: connector }: McpToolParam,
    tenant: string,
    param: string,
  ): URL {
    const place = `${param}.server_url`;
    if (text == null) {
      if (connector != null) {
        throw ApiError.badRequest(`The connector '${connector}' is not known.`, `${param}.connector_id`);
      }
      const open = [...this.running.keys()].filter((name) => this.known({ type: 'mcp', server_label: name }, tenant));
      const [nearest] = didYouMean(label, open);
      const suggestion = nearest === undefined ? '' : ` Did you mean '${nearest}'?`;
      const named = `This server knows no MCP server '${label}'.${suggestion}`;
      const message = `Missing required parameter: '${place}'. ${named}`;
      throw ApiError.of('missing_required_parameter', message, { param: place });
    }
    const refuse = (fault: string): ApiError => ApiError.badRequest(`Invalid '${place}': it ${fault}.`, place);
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) throw refuse('must be an http or https URL');
    if (url.username !== '' || url.password !== '') throw refuse('must not contain a user or a password');
    if (this.clientUrls === 'none') throw refuse('must be the URL of a server that the operator has named');
    const fault = this.clientUrls === 'public' ? faultOfPublicUrl(url) : undefined;
    if (fault !== undefined) throw refuse(fault);
    return url;
  }

  /** A server that clients of a tenant bring. */
  private ofClient(tenant: string, { href: url }: URL): RunningServer {
    const key = JSON.stringify([tenant, url]);
    const server = this.ofClients.get(key) ?? new RunningServer(CLIENT_LABEL, { url }, this.partsWith('client'));
    this.ofClients.delete(key);
    this.ofClients.set(key, server);
    if (this.ofClients.size > MOST_CLIENT_SERVERS) {
      const [[oldest, unused]] = this.ofClients as unknown as [[string, RunningServer]];
      this.ofClients.delete(oldest);
      this.retire(unused);
    }
    return server;
  }

  private partsWith(http: 'trusted' | 'client'): RunningServerParts {
    if (this.http === null) throw new Error('MCP is off');
    return { http: this.http[http], clock: this.clock, logger: this.requestLogger, observer: this.observer };
  }

  /** Servers whose entries are unchanged keep their connections. */
  private take({ servers = {}, connectors = {} }: ServersFile): OperatorServers {
    const both = Object.keys(servers).find((label) => this.own?.has(label) === true);
    if (both !== undefined) throw new EnvironmentError([`MCP_SERVERS: the program has tools of its own as '${both}'`]);
    const before = this.running;
    const running = new Map(
      Object.entries(servers).map(([label, entry]) => {
        const known = before.get(label);
        return [label, known && isSame(known.entry, entry) ? known : this.start(label, entry)];
      }),
    );
    for (const [label, server] of before) if (running.get(label) !== server) this.retire(server);
    return { servers: running, connectors: new Map(Object.entries(connectors)) };
  }

  private start(label: string, entry: McpServerEntry): RunningServer {
    return new RunningServer(label, entry, this.partsWith('trusted'));
  }

  private retire(server: RunningServer): void {
    for (const old of this.retired) if (old.connections.size === 0) this.retired.delete(old);
    this.retired.add(server);
    server.connections.retire();
  }

  private get running(): ReadonlyMap<string, RunningServer> {
    return (this.file?.current ?? NO_SERVERS).servers;
  }
}

/** The headers of a tool, in lower case. Throws ApiError for one that is malformed. */
function headersOf({ headers, authorization }: McpToolParam, param: string): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(headers ?? {})) {
    const fault = faultOfHeader(name, value);
    if (fault !== undefined) throw ApiError.badRequest(`Invalid '${param}.headers': it ${fault}.`, `${param}.headers`);
  }
  const place = `${param}.authorization`;
  if (authorization != null && faultOfHeader('authorization', authorization) !== undefined) {
    throw ApiError.badRequest(`Invalid '${place}': it must be a token.`, place);
  }
  return toHeaders(headers ?? {}, authorization);
}

function isSame(a: McpServerEntry, b: McpServerEntry): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
