import { ApiError } from '../../protocol/index.js';
import { clip } from '../../validation/index.js';

type Members = Readonly<Record<string, unknown>>;

/** Aliases of hosted tools: a choice may use another name than the tool. */
const ALIASES: ReadonlyMap<unknown, string> = new Map([
  ['web_search_2025_08_26', 'web_search'],
  ['web_search_preview', 'web_search'],
  ['web_search_preview_2025_03_11', 'web_search'],
  ['computer_use', 'computer'],
  ['computer_use_preview', 'computer'],
]);

const canonical = (type: unknown): unknown => ALIASES.get(type) ?? type;

/** Whether a choice refers to a tool of the list or of a namespace in it. */
function isOffered(choice: Members, tools: readonly Members[]): boolean {
  return tools.some((tool) => {
    if (tool.type === 'namespace' && isOffered(choice, tool.tools as readonly Members[])) return true;
    if (canonical(tool.type) !== canonical(choice.type)) return false;
    if (choice.type === 'mcp') return choice.server_label == null || choice.server_label === tool.server_label;
    return choice.name == null || choice.name === tool.name;
  });
}

function labelOf(choice: Members): string {
  const label = choice.type === 'mcp' ? choice.server_label : choice.name;
  return typeof label === 'string' ? label : String(choice.type);
}

/** Refuses a tool choice that names a tool which is not in `tools` (protocol §3.4). Both must be validated. */
export function requireChosenTools(toolChoice: unknown, tools: readonly object[]): void {
  if (typeof toolChoice !== 'object' || toolChoice === null) return;
  const choice = toolChoice as Members;
  const choices = choice.type === 'allowed_tools' ? (choice.tools as readonly Members[]) : [choice];
  const absent = choices.find((chosen) => !isOffered(chosen, tools as readonly Members[]));
  if (absent === undefined) return;
  const message = `Tool choice '${clip(labelOf(absent))}' not found in 'tools' parameter.`;
  throw ApiError.badRequest(message, 'tool_choice');
}
