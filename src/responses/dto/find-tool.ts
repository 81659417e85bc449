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

/** What choices can refer to, of tools and the tools of namespaces in them: a type, or a type and a name. */
function listReferences(tools: readonly Members[], references = new Set<string>()): ReadonlySet<string> {
  for (const tool of tools) {
    const type = String(canonical(tool.type));
    references.add(type).add(referenceTo(type, tool.type === 'mcp' ? tool.server_label : tool.name));
    if (tool.type === 'namespace') listReferences(tool.tools as readonly Members[], references);
  }
  return references;
}

function referenceTo(type: string, name: unknown): string {
  return `${type} ${String(name)}`;
}

/** Whether a choice refers to one of the tools. */
function isOffered(choice: Members, references: ReadonlySet<string>): boolean {
  const type = String(canonical(choice.type));
  const name = choice.type === 'mcp' ? choice.server_label : choice.name;
  return references.has(name == null ? type : referenceTo(type, name));
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
  const references = listReferences(tools as readonly Members[]);
  const absent = choices.find((chosen) => !isOffered(chosen, references));
  if (absent === undefined) return;
  const message = `Tool choice '${clip(labelOf(absent))}' not found in 'tools' parameter.`;
  throw ApiError.badRequest(message, 'tool_choice');
}
