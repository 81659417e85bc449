import type {
  MessageCreateParamsBase,
  Tool,
  ToolUnion,
  WebSearchTool20250305,
} from '@anthropic-ai/sdk/resources/messages';

import { isToolset, type McpServer, type PlacedTool, toMcpTools } from './mcp-servers.js';
import { isSearchTool } from './messages-body.js';

/** The members of a request that say what the model may call. */
interface ToolMembers {
  readonly tools?: readonly ToolUnion[] | null | undefined;
  readonly mcp_servers?: readonly McpServer[] | null | undefined;
}

/** Members of tools that change nothing here: all of them are offered at once, to the model alone. */
const WITHOUT_EFFECT = ['allowed_callers', 'defer_loading', 'input_examples'] as const;

/** The search of the web among the tools, if there is one. */
export function searchIn(tools: ToolMembers['tools']): WebSearchTool20250305 | undefined {
  return tools?.find(isSearchTool) as WebSearchTool20250305 | undefined;
}

/** The tools of the client, and behind them those of the MCP servers that no toolset names. */
export function toTools(
  { tools: asked, mcp_servers: servers }: ToolMembers,
  ignore: (name: string) => void,
): readonly PlacedTool[] {
  const tools = asked ?? [];
  const { chosen, others } = toMcpTools(servers ?? [], tools);
  const given = tools.flatMap((tool, index): readonly PlacedTool[] => {
    if (!isToolset(tool)) return [{ tool: toTool(tool, ignore), path: `tools[${index}]` }];
    const own = chosen.get(tool);
    return own === undefined ? [] : [own];
  });
  return [...given, ...others];
}

function toTool(tool: ToolUnion, ignore: (name: string) => void): object {
  for (const name of WITHOUT_EFFECT) if ((tool as Tool)[name] != null) ignore(`tools[].${name}`);
  if (isSearchTool(tool)) return toSearch(tool as WebSearchTool20250305);
  const { name, description, input_schema: parameters, strict } = tool as Tool;
  return {
    type: 'function',
    name,
    ...(description == null ? {} : { description }),
    parameters,
    strict: strict ?? false,
  };
}

function toSearch(tool: WebSearchTool20250305): object {
  const { allowed_domains: allowed, blocked_domains: blocked, user_location: location } = tool;
  const filters = {
    ...(allowed == null ? {} : { allowed_domains: allowed }),
    ...(blocked == null ? {} : { blocked_domains: blocked }),
  };
  return {
    type: 'web_search',
    ...(Object.keys(filters).length === 0 ? {} : { filters }),
    ...(location == null ? {} : { user_location: location }),
  };
}

/** The choice among the tools. */
export function toChoice(
  choice: NonNullable<MessageCreateParamsBase['tool_choice']>,
  search: WebSearchTool20250305 | undefined,
): string | object {
  if (choice.type === 'tool') {
    return choice.name === search?.name ? { type: 'web_search' } : { type: 'function', name: choice.name };
  }
  return choice.type === 'any' ? 'required' : choice.type;
}
