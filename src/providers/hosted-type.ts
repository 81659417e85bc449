import { isObject } from '../validation/index.js';

/** Types of tools that clients run themselves; `tool_search` is answered for the models of any provider. */
const OTHERS: ReadonlySet<unknown> = new Set([
  'function',
  'custom',
  'namespace',
  'shell',
  'local_shell',
  'apply_patch',
  'tool_search',
]);

/**
 * The type of a tool, or of the choice of one, that the model's side has to run, such as `web_search`, `mcp` or a shell in a
 * container; undefined for tools that the client runs.
 */
export function hostedTypeOf(tool: object): string | undefined {
  const { type, environment } = tool as { readonly type?: unknown; readonly environment?: unknown };
  const isContainer = type === 'shell' && isObject(environment) && environment.type !== 'local';
  return OTHERS.has(type) && !isContainer ? undefined : String(type);
}
