/** The calls that the service has run for a message, as blocks: of tools that its request names itself, as clients know them from Anthropic. */
import type {
  BetaContentBlock,
  BetaMCPToolResultBlock,
  BetaMCPToolUseBlock,
} from '@anthropic-ai/sdk/resources/beta/messages';
import type {
  CitationsWebSearchResultLocation,
  ContentBlock,
  WebSearchResultBlock,
} from '@anthropic-ai/sdk/resources/messages';

import type { Item } from '../../protocol/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';

/** Whose calls a message shows. Those of tools that only the operator has switched on (DOOR_TOOLS) are in none. */
export interface ShownTools {
  /** Searches of the web. */
  readonly search: boolean;
  /** Calls of MCP servers with these names. */
  readonly servers: ReadonlySet<string>;
}

/** The types of items that become such blocks. */
export function shownTypes({ search, servers }: ShownTools): readonly Item['type'][] {
  return [...(search ? ['web_search_call' as const] : []), ...(servers.size > 0 ? ['mcp_call' as const] : [])];
}

/** How many searches of the web a message shows; null where it shows none. */
export function searchesIn(output: readonly Item[], { search }: ShownTools): number | null {
  return search ? output.filter(isSearch).length : null;
}

/** The call of an item and its result; nothing for one that the message does not show. */
export function toServerBlocks(item: Item, { search, servers }: ShownTools): readonly ContentBlock[] {
  if (search && isSearch(item)) return toSearchBlocks(item);
  const isShown = item.type === 'mcp_call' && servers.has(String(item['server_label']));
  return isShown ? (toMcpBlocks(item) as readonly BetaContentBlock[] as readonly ContentBlock[]) : [];
}

/** Pages that were opened have no block: their results would be documents. */
function isSearch({ type, action }: Item): boolean {
  return type === 'web_search_call' && isObject(action) && action.type === 'search';
}

const CALLER = { type: 'direct' } as const;

function toSearchBlocks({ id, action, status, results }: Item): readonly ContentBlock[] {
  const useId = id.replace(/^ws_/, 'srvtoolu_');
  const query = isObject(action) ? action.query : '';
  const found = objectsIn(results).flatMap(({ url, title }): readonly WebSearchResultBlock[] => {
    if (typeof url !== 'string') return [];
    const about = { title: typeof title === 'string' ? title : url, encrypted_content: '', page_age: null };
    return [{ type: 'web_search_result', url, ...about }];
  });
  const error = { type: 'web_search_tool_result_error', error_code: 'unavailable' } as const;
  return [
    { type: 'server_tool_use', id: useId, name: 'web_search', input: { query }, caller: CALLER },
    {
      type: 'web_search_tool_result',
      tool_use_id: useId,
      content: status === 'failed' ? error : found,
      caller: CALLER,
    },
  ];
}

const MCP_USE = 'mcptoolu_';

function toMcpBlocks(item: Item): readonly [BetaMCPToolUseBlock, BetaMCPToolResultBlock] {
  const { id, server_label: label, name, arguments: given, output, error } = item;
  const useId = id.replace(/^mcp_/, MCP_USE);
  const input = parseJson(typeof given === 'string' ? given : '');
  const isError = error != null;
  const text = isError ? textOfError(error) : typeof output === 'string' ? output : '';
  return [
    {
      type: 'mcp_tool_use',
      id: useId,
      name: String(name),
      server_name: String(label),
      input: isObject(input) ? input : {},
    },
    {
      type: 'mcp_tool_result',
      tool_use_id: useId,
      is_error: isError,
      content: [{ type: 'text', text, citations: null }],
    },
  ];
}

function textOfError(error: unknown): string {
  if (typeof error === 'string') return error;
  const { content, message } = isObject(error) ? error : {};
  const texts = objectsIn(content).map(({ text }) => String(text));
  return texts.length > 0 ? texts.join('\n') : String(message);
}

/** What a text cites of the web; undefined for another annotation, and for one beyond the text. */
export function toCitation(
  { type, url, title, start_index: start, end_index: end }: Readonly<Record<string, unknown>>,
  text: string,
): CitationsWebSearchResultLocation | undefined {
  if (type !== 'url_citation' || typeof url !== 'string' || Number(end) > text.length) return undefined;
  return {
    type: 'web_search_result_location',
    url,
    title: typeof title === 'string' ? title : null,
    cited_text: text.slice(Number(start), Number(end)),
    encrypted_index: '',
  };
}

/** A call of an MCP server, as a client sends it back. */
export interface SentMcpUse {
  readonly type: 'mcp_tool_use';
  readonly id: string;
  readonly name: string;
  readonly server_name: string;
  readonly input: object;
}
/** What the server has answered. */
export interface SentMcpResult {
  readonly type: 'mcp_tool_result';
  readonly tool_use_id: string;
  readonly is_error?: boolean | null;
  readonly content?: string | readonly { readonly text: string }[] | null;
}

/** The item of a call that a client sends back with its result. */
export function toMcpCall({ id, name, server_name: label, input }: SentMcpUse, result: SentMcpResult) {
  const { content, is_error: isError } = result;
  const output = typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('\n');
  const about = { type: 'mcp_call', server_label: label, name, arguments: JSON.stringify(input) } as const;
  // A call of another service has no item here with its id.
  const own = id.startsWith(MCP_USE) ? { id: id.replace(MCP_USE, 'mcp_') } : {};
  return isError === true ? { ...about, ...own, output: null, error: output } : { ...about, ...own, output };
}
