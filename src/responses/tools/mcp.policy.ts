import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';

import { asTenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import {
  INJECTED_TOOLS,
  type InjectedTools,
  type McpServer,
  McpServers,
  type McpToolParam,
  OwnServers,
} from '../../tools/mcp/index.js';
import { ApiError, IdGenerator, type Item } from '../../protocol/index.js';
import { mayUseModel, ProviderRegistry, type Turn } from '../../providers/index.js';
import { Clock, type MaybePromise } from '../../time/index.js';
import { objectsIn } from '../../validation/index.js';
import { PassPolicy, type TurnPolicy } from '../turn/pass-policy.js';
import { type AskedCall, McpApprovals } from './mcp-approvals.js';
import { McpTurn, readCall, type RunTool } from './mcp-turn.js';

/** Servers of one request: each is asked for its tools. */
const MOST_SERVERS = 64;

/** The MCP tools of most turns. */
const NONE: readonly never[] = [];

/** Runs the tools of MCP servers for the models of all providers: lists them, asks for approvals, calls them (docs/tools.md). */
@Injectable()
export class McpPolicy extends PassPolicy implements OnModuleInit {
  /** The labels of the servers that a turn has here. */
  private readonly labels = new WeakMap<Turn, ReadonlySet<unknown>>();
  /** The tools of turns that were checked, for their begin. */
  private readonly found = new WeakMap<Turn, readonly RunTool[]>();

  constructor(
    private readonly servers: McpServers,
    private readonly approvals: McpApprovals,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
    private readonly environment: Environment,
    private readonly own: OwnServers,
    private readonly providers: ProviderRegistry,
    @Inject(INJECTED_TOOLS) private readonly injected: readonly InjectedTools[],
  ) {
    super();
  }

  /** Throws an Error for tools to be injected that the program does not have. */
  onModuleInit(): void {
    const unknown = this.injected.find(({ server }) => !this.own.has(server));
    if (unknown !== undefined) throw new Error(`injectedTools: no @ServerTool has the server '${unknown.server}'`);
  }

  override begin(turn: Turn): TurnPolicy | undefined {
    const tools = this.toolsOf(turn);
    if (tools.length === 0) return undefined;
    const { approvals, clock, ids, environment, providers } = this;
    return new McpTurn(tools, turn, { approvals, clock, ids, environment, providers });
  }

  /** A tool of the request, or the choice of one. */
  override runs(tool: object, turn: Turn): boolean {
    const { type, server_label: label } = tool as Partial<McpToolParam>;
    if ((type as unknown) !== 'mcp') return false;
    const known = this.labels.get(turn);
    const isAmong = (labels: ReadonlySet<unknown>): boolean => (label == null ? labels.size > 0 : labels.has(label));
    if (known !== undefined) return isAmong(known);
    const own = this.toolsNamedIn(turn).filter((each) => this.servers.runs(each.tool, turn.tenant));
    const labels = new Set<unknown>(own.map((each) => each.tool.server_label));
    this.labels.set(turn, labels);
    return isAmong(labels);
  }

  override check(turn: Turn, input: readonly Item[]): MaybePromise<void> {
    // Throws for a server that cannot be used.
    const tools = this.toolsOf(turn);
    if (tools.length > MOST_SERVERS) {
      throw ApiError.of('invalid_value', `A request may name at most ${MOST_SERVERS} MCP servers.`, { param: 'tools' });
    }
    const labels = new Set<string>();
    for (const { tool } of tools) {
      if (labels.has(tool.server_label))
        throw ApiError.badRequest(`Two MCP tools have the server_label '${tool.server_label}'.`, 'tools');
      labels.add(tool.server_label);
    }
    const answers = McpApprovals.answersIn(input);
    return answers.length === 0 ? undefined : this.checkAnswers(answers, tools, turn);
  }

  /**
   * The MCP tools of a turn: those of the request, as the client sent them, since the settings are without credentials, and those of other
   * servers that items of the context have added.
   */
  private toolsNamedIn(turn: Turn): readonly NamedTool[] {
    const { settings, parameters, input } = turn;
    const isNamed = settings.tools.some(({ type }) => type === 'mcp');
    const own = isNamed ? toMcpTools(objectsIn(parameters.tools ?? settings.tools), (index) => `tools[${index}]`) : [];
    const added = addedBy(input, (item) => `input[${item}]`);
    const before = this.servers.isOn ? addedBy(turn.context, () => null) : [];
    if (own.length + added.length + before.length === 0) return NONE;
    const labels = new Set<unknown>();
    return [...own, ...added, ...before].filter(({ tool: { server_label: label } }, index) => {
      const isNew = index < own.length || !labels.has(label);
      labels.add(label);
      return isNew;
    });
  }

  private toolsOf(turn: Turn): readonly RunTool[] {
    const known = this.found.get(turn);
    if (known !== undefined) return known;
    const tools = this.find(turn);
    // Most turns name none, which costs less to find again than an entry. What was chosen among those that are named stays for the turn.
    if (tools !== NONE) this.found.set(turn, tools);
    return tools;
  }

  private find(turn: Turn): readonly RunTool[] {
    const all = this.toolsNamedIn(turn);
    if (all.length + this.injected.length === 0) return NONE;
    const named = all
      .filter(({ tool }) => this.servers.runs(tool, turn.tenant))
      .flatMap((each) => this.findNamed(each, turn.tenant));
    return [...named, ...this.injectedInto(turn, named)];
  }

  private findNamed({ tool, place }: NamedTool, tenant: string): readonly RunTool[] {
    try {
      return [{ tool, server: this.servers.find(tool, tenant, place ?? 'input') }];
    } catch (error) {
      // The server may be gone since an earlier request has named it.
      if (place === null && error instanceof ApiError) return [];
      throw error;
    }
  }

  /** The tools that the program gives to a turn, without those that its request names in its own way. */
  private injectedInto({ tenant, settings }: Turn, named: readonly RunTool[]): readonly RunTool[] {
    const labels = this.injected
      .filter(({ tenants }) => tenants?.includes(tenant) ?? true)
      .filter((each) => mayUseModel(each, settings.model))
      .map(({ server }) => server);
    return [...new Set(labels)]
      .filter((label) => named.every(({ tool }) => tool.server_label !== label))
      .map((label) => {
        const tool: McpToolParam = { type: 'mcp', server_label: label };
        return { tool, server: this.servers.find(tool, tenant, 'tools'), isInjected: true };
      });
  }

  /** Throws ApiError for answers to requests that do not exist, were answered, changed, or have expired. */
  private async checkAnswers(
    answers: readonly (readonly [index: number, answer: Item])[],
    tools: readonly RunTool[],
    turn: Turn,
  ): Promise<void> {
    const { context } = turn;
    const requests = McpApprovals.requestsIn(context);
    const given = new Set(answers.map(([, { id }]) => id));
    // One that was approved and not called, such as beyond `max_tool_calls`, is open.
    const isSettled = ({ type, id, approve }: Item): boolean =>
      type === 'mcp_call' || (type === 'mcp_approval_response' && approve !== true && !given.has(id));
    const answered = new Set(context.filter(isSettled).map((item) => item['approval_request_id']));
    for (const [index, { approval_request_id: id }] of answers) {
      if (typeof id !== 'string') continue;
      const place = `input[${index}].approval_request_id`;
      const request = requests.get(id);
      if (request === undefined) throw ApiError.badRequest(`No approval request found with the id '${id}'.`, place);
      // Requests of an upstream are answered there.
      if (!McpApprovals.isOwn(id)) continue;
      if (answered.has(id)) throw ApiError.badRequest(`The approval request '${id}' was answered before.`, place);
      answered.add(id);
      const label = String(request['server_label']);
      const server = tools.find(({ tool }) => tool.server_label === label)?.server;
      if (server === undefined) {
        const message = `The approval request '${id}' is for the MCP server '${label}', which is not among the tools of this request.`;
        throw ApiError.badRequest(message, place);
      }
      await this.approvals.verify(request, toAsked(request, server, turn), place);
    }
  }
}

/** An MCP tool, with its place in the request: null for one that came with the input of an earlier request. */
interface NamedTool {
  readonly tool: McpToolParam;
  readonly place: string | null;
}

/** The MCP tools that items add to those of requests. `placeOf`: where an item is in the request. */
function addedBy(items: readonly Item[], placeOf: (item: number) => string | null): readonly NamedTool[] {
  const added: NamedTool[] = [];
  // Not copied: a context may be long, and seldom has such items.
  for (let item = 0; item < items.length; item += 1) {
    if (items[item]?.type !== 'additional_tools') continue;
    const place = placeOf(item);
    const tools = objectsIn(items[item]?.['tools']);
    added.push(...toMcpTools(tools, (index) => (place === null ? null : `${place}.tools[${index}]`)));
  }
  return added;
}

function toMcpTools(tools: readonly object[], placeOf: (index: number) => string | null): readonly NamedTool[] {
  return [...tools.entries()].flatMap(([index, tool]) =>
    (tool as { readonly type?: unknown }).type === 'mcp' ? [{ tool: tool as McpToolParam, place: placeOf(index) }] : [],
  );
}

function toAsked(request: Item, server: McpServer, { tenant }: Turn): AskedCall {
  const { name, arguments: given } = readCall(request);
  return { tenant: asTenant(tenant), server: server.identity, name, arguments: given };
}
