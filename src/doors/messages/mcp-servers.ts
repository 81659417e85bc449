import { Allow, IsArray, IsBoolean, IsIn, IsObject, IsOptional, IsString, MinLength } from 'class-validator';

import { ApiError } from '../../protocol/index.js';
import { clip, Closed, described, exactly, isObject, nested, Satisfies, wrongType } from '../../validation/index.js';

class ToolSwitch {
  @IsOptional()
  @IsBoolean()
  readonly enabled?: boolean | null;

  @IsOptional()
  @IsBoolean()
  readonly defer_loading?: boolean | null;
}

const toolSwitch = exactly(ToolSwitch);

/** Switches by the names of tools. */
const switches = described((value, options) => {
  if (!isObject(value)) return wrongType('an object', value);
  for (const [name, each] of Object.entries(value)) {
    const violation = toolSwitch(each, options);
    if (violation !== null) return violation.under(name);
  }
  return null;
}, {});

@Closed()
class McpToolset {
  @Allow()
  readonly type!: unknown;

  @IsOptional()
  @IsObject()
  readonly cache_control?: object | null;

  @IsString()
  readonly mcp_server_name!: string;

  @IsOptional()
  @Satisfies(toolSwitch)
  readonly default_config?: ToolSwitch | null;

  @IsOptional()
  @Satisfies(switches)
  readonly configs?: Readonly<Record<string, ToolSwitch>> | null;
}

@Closed()
class McpToolConfiguration {
  @IsOptional()
  @IsBoolean()
  readonly enabled?: boolean | null;

  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  readonly allowed_tools?: readonly string[] | null;
}

/** An element of `mcp_servers`. Without a URL, it is one of MCP_SERVERS. */
@Closed()
export class McpServer {
  @IsIn(['url'])
  readonly type!: string;

  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly url?: string | null;

  @IsOptional()
  @IsString()
  readonly authorization_token?: string | null;

  @IsOptional()
  @Satisfies(nested(McpToolConfiguration))
  readonly tool_configuration?: McpToolConfiguration | null;
}

export const server = nested(McpServer);

/** A tool that chooses among those of a server. */
export const toolset = nested(McpToolset);

/** Whether a tool chooses among those of a server. */
export function isToolset(value: unknown): boolean {
  return isObject(value) && value.type === 'mcp_toolset';
}

/** A tool of the Responses API, with what it was made from. */
export interface PlacedTool {
  readonly tool: object;
  readonly path: string;
}

/** The servers of a request as tools. */
export interface McpTools {
  /** By the toolsets in whose places they stand. */
  readonly chosen: ReadonlyMap<object, PlacedTool>;
  /** Tools of servers that no toolset names. */
  readonly others: readonly PlacedTool[];
}

/** The servers of a request as tools, with what is chosen among theirs. Throws ApiError 400 for a choice that cannot be kept. */
export function toMcpTools(servers: readonly McpServer[], tools: readonly object[]): McpTools {
  const chosen = new Map<object, PlacedTool>();
  const named = new Set<string>();
  // Of several with one name, the first; a search for each toolset would make many of both expensive.
  const places = new Map(servers.map(({ name }, index) => [name, index] as const).toReversed());
  for (const [index, tool] of tools.entries()) {
    if (!isToolset(tool)) continue;
    const set = tool as McpToolset;
    const path = `tools[${index}]`;
    const at = places.get(set.mcp_server_name) ?? -1;
    const from = servers[at];
    if (from === undefined) throw unknownServer(set, `${path}.mcp_server_name`);
    named.add(from.name);
    const names = namesIn(set, path);
    if (isOn(from)) chosen.set(set, { tool: toMcpTool(from, names), path: `mcp_servers[${at}]` });
  }
  const others = [...servers.entries()]
    .filter(([, server]) => isOn(server) && !named.has(server.name))
    .map(([index, server]) => ({ tool: toMcpTool(server, null), path: `mcp_servers[${index}]` }));
  return { chosen, others };
}

function isOn({ tool_configuration: configuration }: McpServer): boolean {
  return configuration?.enabled !== false;
}

/** As in Anthropic's API, calls need no approval: nobody could give it through a door. */
function toMcpTool(given: McpServer, names: readonly string[] | null): object {
  const { name, url, authorization_token: token, tool_configuration: configuration } = given;
  const allowed = names ?? configuration?.allowed_tools;
  return {
    type: 'mcp',
    server_label: name,
    ...(url == null ? {} : { server_url: url }),
    ...(token == null ? {} : { authorization: token }),
    ...(allowed == null ? {} : { allowed_tools: allowed }),
    require_approval: 'never',
  };
}

/** The names of the tools that a set allows; null for all of its server. */
function namesIn({ default_config: byDefault, configs }: McpToolset, path: string): readonly string[] | null {
  const names = Object.keys(configs ?? {});
  const isOnByDefault = byDefault?.enabled ?? true;
  const isOnHere = (name: string): boolean => configs?.[name]?.enabled ?? isOnByDefault;
  if (!isOnByDefault) return names.filter(isOnHere);
  const left = names.find((name) => !isOnHere(name));
  if (left === undefined) return null;
  const param = `${path}.configs`;
  const message = `Unsupported value: '${clip(left)}' cannot be left out. Set 'default_config.enabled' to false, and name the tools that may be used.`;
  throw ApiError.of('unsupported_value', message, { param });
}

function unknownServer({ mcp_server_name: name }: McpToolset, param: string): ApiError {
  const message = `Invalid '${param}': there is no server '${clip(name)}' in 'mcp_servers'.`;
  return ApiError.of('invalid_value', message, { param });
}
