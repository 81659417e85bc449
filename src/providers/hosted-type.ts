import { isObject } from '../validation/index.js';

/** Types of tools that clients run themselves; `tool_search` is answered for the models of any provider. */
const OTHERS: ReadonlySet<unknown> = new Set([
  ...['function', 'custom', 'namespace', 'shell', 'local_shell', 'apply_patch', 'tool_search'],
]);

/** Types of tools that the model's side has to run, of all servers with this API. */
const HOSTED: ReadonlySet<unknown> = new Set([
  ...['code_interpreter', 'computer', 'computer_use', 'computer_use_preview', 'file_search', 'image_generation'],
  ...['mcp', 'programmatic_tool_calling', 'web_search', 'web_search_2025_08_26', 'web_search_preview'],
  'web_search_preview_2025_03_11',
]);

/** Every type of tool that the API has, in the order of the alphabet. */
export const TOOL_TYPES: readonly unknown[] = [...OTHERS, ...HOSTED].sort();

/** Whether the API has tools of a type. Others are extensions of one server. */
export function isToolType(type: unknown): boolean {
  return OTHERS.has(type) || HOSTED.has(type);
}

/**
 * The type of a tool, or of the choice of one, that the model's side has to run, such as `web_search`, `mcp` or a shell in a
 * container; undefined for tools that the client runs.
 */
export function hostedTypeOf(tool: object): string | undefined {
  const { type, environment } = tool as { readonly type?: unknown; readonly environment?: unknown };
  const isContainer = type === 'shell' && isObject(environment) && environment.type !== 'local';
  return OTHERS.has(type) && !isContainer ? undefined : String(type);
}
