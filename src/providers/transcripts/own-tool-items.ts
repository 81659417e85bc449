import { callIdOf, type Item, toUpstreamItemId } from '../../protocol/index.js';
import { mcpFunctionName, outputOfMcpCall, outputOfRefusedCall, toFunctionCall } from './mcp-calls.js';

/** The ids of lists and requests for approvals of this service. */
const AUTHENTICATED = /^mcp[lr]_[0-9a-f]{52}$/;

const CALL = 'mcp_call';
const REQUEST = 'mcp_approval_request';
const ANSWER = 'mcp_approval_response';

/** Searches stand behind the function calls that the model has made for them. */
const SEARCHES: ReadonlySet<string> = new Set(['web_search_call', 'file_search_call']);

/**
 * A context whose tools this service has run in earlier turns, as an upstream reads it that knows nothing of them: MCP calls as calls of
 * functions with their outputs. What an upstream has run, and what a client has from elsewhere, stays as it is.
 */
export function withoutOwnToolItems(context: readonly Item[]): readonly Item[] {
  if (!context.some(isOwn)) return context;
  const answers = new Map(
    context.filter(({ type }) => type === ANSWER).map((item) => [item['approval_request_id'], item]),
  );
  const run = new Set(context.filter(({ type }) => type === CALL).map((call) => call['approval_request_id']));
  const calls = new Set(context.filter(({ type }) => type === 'function_call').map(callIdOf));
  return context.flatMap((item): readonly Item[] => {
    const { type, id } = item;
    if (type === ANSWER) return AUTHENTICATED.test(String(item['approval_request_id'])) ? [] : [item];
    if (!isOwn(item)) return [item];
    if (SEARCHES.has(type)) return calls.has(id) ? [] : [item];
    if (type === CALL) return toPair(item, outputOfMcpCall(item));
    if (type === REQUEST && !run.has(id)) return toPair(item, outputOfRefusedCall(answers.get(id)));
    return [];
  });
}

function isOwn({ type, id }: Item): boolean {
  if (type === CALL) return id.startsWith('mcp_') && toUpstreamItemId(id) === undefined;
  if (type === REQUEST || type === 'mcp_list_tools') return AUTHENTICATED.test(id);
  return SEARCHES.has(type) && toUpstreamItemId(id) === undefined;
}

function toPair(item: Item, output: string): readonly Item[] {
  return toFunctionCall(item, mcpFunctionName(String(item['server_label']), String(item['name'])), output);
}
