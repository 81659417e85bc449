import { matchesFilter, type McpToolFilter, type McpToolInfo, type McpToolParam } from '../../tools/mcp/index.js';

function isFilter(allowed: McpToolParam['allowed_tools']): allowed is McpToolFilter {
  return allowed != null && !Array.isArray(allowed);
}

/** The names that a request allows; none if it allows tools otherwise. */
function namesOf(allowed: McpToolParam['allowed_tools']): readonly string[] {
  return (isFilter(allowed) ? allowed.tool_names : allowed) ?? [];
}

/** Whether a request allows a tool by its name. */
export function namesAllow(name: string, allowed: McpToolParam['allowed_tools']): boolean {
  const isByName = allowed != null && (!isFilter(allowed) || allowed.tool_names != null);
  return !isByName || namesOf(allowed).includes(name);
}

/** Whether a request allows a tool. */
export function isAllowed(tool: McpToolInfo, allowed: McpToolParam['allowed_tools']): boolean {
  if (!namesAllow(tool.name, allowed)) return false;
  return !isFilter(allowed) || allowed.read_only !== true || tool.annotations?.readOnlyHint === true;
}

/** The rule of a request for a tool; undefined if it has none. */
export function approvalOf(tool: McpToolInfo, rule: McpToolParam['require_approval']): 'always' | 'never' | undefined {
  if (rule == null) return undefined;
  if (typeof rule === 'string') return rule === 'never' ? 'never' : 'always';
  if (matchesFilter(rule.always, tool)) return 'always';
  return matchesFilter(rule.never, tool) ? 'never' : 'always';
}
