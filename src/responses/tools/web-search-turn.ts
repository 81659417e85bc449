import type { Tool } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';
import { HostedToolTurn, hostedToolsOf, QUERIES, toFunction } from './hosted-tool-turn.js';
import { CITE } from './sources.js';
import {
  type WebCallKind,
  WebCalls,
  type WebOutcome,
  type WebSearchParam,
  type WebSearchShared,
} from './web-search-calls.js';

const TYPES: ReadonlySet<unknown> = new Set([
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
]);

/** Whether a tool, or a choice of one, searches the web. */
export function isWebSearch(tool: object): tool is WebSearchParam {
  return TYPES.has((tool as { readonly type?: unknown }).type);
}

/** The tools of a turn that search the web, those of the request first, with their places in it. */
export function webSearchToolsOf(turn: Turn): readonly { readonly tool: WebSearchParam; readonly place: string }[] {
  return hostedToolsOf(turn, isWebSearch);
}

/** The web in one turn. */
export function webSearchTurn(
  tool: WebSearchParam,
  turn: Turn,
  shared: WebSearchShared,
): HostedToolTurn<WebCallKind, WebOutcome> {
  const calls = new WebCalls(tool, turn, shared);
  const { ids, clock, environment } = shared;
  return new HostedToolTurn<WebCallKind, WebOutcome>(
    {
      itemType: 'web_search_call',
      functions: { search: 'web_search', open_page: 'web_open_page', find_in_page: 'web_find_in_page' },
      chosen: 'search',
      sources: calls.sources,
      isTool: isWebSearch,
      define: (names) => define(names, tool, calls, shared.web.opensPages),
      open: (call) => calls.open(call),
      run: (call, pass) => calls.run(call, pass),
      fail: (call, reason) => calls.fail(call, reason),
      hasFailed: ({ status }) => status === 'failed',
      close: (call, outcome) => calls.close(call, outcome),
    },
    turn,
    { ids, clock, parallel: environment.MCP_MAX_PARALLEL_CALLS, idleMs: environment.MODEL_IDLE_TIMEOUT_MS },
  );
}

function define(
  names: Readonly<Record<WebCallKind, string>>,
  { user_location: location, filters }: WebSearchParam,
  { findsImages }: WebCalls,
  opensPages: boolean,
): readonly Tool[] {
  const near = [location?.city, location?.region, location?.country].filter((part) => part != null && part !== '');
  const zone = location?.timezone == null ? '' : ` Their time zone is ${location.timezone}.`;
  const where = near.length === 0 ? zone : ` The user is near ${near.join(', ')}.${zone}`;
  const only =
    (filters?.allowed_domains ?? []).length === 0
      ? ''
      : ` Only these domains are searched: ${filters?.allowed_domains?.join(', ')}.`;
  const images = { type: 'boolean', description: 'Whether to look for images.' };
  const text = { type: 'string' };
  const page = { type: 'string', description: 'The URL of the page.' };
  const search = toFunction(
    names.search,
    `Searches the web.${where}${only} ${CITE}`,
    { queries: QUERIES, ...(findsImages ? { images } : {}) },
    ['queries'],
  );
  if (!opensPages) return [search];
  const position = { type: 'integer', minimum: 0, description: 'Where in its text to begin; 0 is its start.' };
  return [
    search,
    toFunction(names.open_page, `Reads a page of the web as text. ${CITE}`, { url: page, position }, ['url']),
    toFunction(
      names.find_in_page,
      `Finds a text in a page of the web, with what stands around it.`,
      { url: page, pattern: text },
      ['url', 'pattern'],
    ),
  ];
}
