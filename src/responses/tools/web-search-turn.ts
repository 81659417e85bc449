import { addsTools, type Item, type Tool } from '../../protocol/index.js';
import type { ModelEvent, Turn } from '../../providers/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';
import type { FinishedPass, OwnPass, PassesLeft, TurnPolicy } from '../turn/pass-policy.js';
import { HeldCalls, type NoCalls, noCallsIn } from './held-calls.js';
import { FINISH, NO_TOKENS, runCalls } from './run-calls.js';
import { askWithFunctions } from './tool-choice.js';
import {
  CITE,
  MOST_QUERIES,
  type WebCall,
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
export function isWebSearch(tool: object): boolean {
  return TYPES.has((tool as { readonly type?: unknown }).type);
}

/** The tools of a turn that search the web, those of the request first, with their places in it. */
export function webSearchToolsOf({
  settings,
  input,
}: Turn): readonly { readonly tool: WebSearchParam; readonly place: string }[] {
  const own = [...objectsIn(settings.tools).entries()].map(([index, tool]) => ({ tool, place: `tools[${index}]` }));
  const added = input
    .filter(({ type }) => addsTools(type))
    .flatMap(({ tools }) => objectsIn(tools))
    .map((tool) => ({ tool, place: 'input' }));
  return [...own, ...added].filter(({ tool }) => isWebSearch(tool)) as never;
}

/** The web in one turn. Its methods stand in the order in which they are called. */
export class WebSearchTurn implements TurnPolicy {
  private readonly names: Readonly<Record<WebCallKind, string>>;
  private readonly calls: WebCalls;
  /** The calls that the model makes in its pass. */
  private held: HeldCalls<WebCallKind>;

  constructor(
    private readonly tool: WebSearchParam,
    private readonly turn: Turn,
    private readonly shared: WebSearchShared,
  ) {
    this.calls = new WebCalls(tool, turn, shared);
    const taken = new Set(objectsIn(turn.settings.tools).map(({ name }) => name));
    const free = (name: string): string => (taken.has(name) ? free(`${name}_`) : name);
    this.names = {
      search: free('web_search'),
      open_page: free('web_open_page'),
      find_in_page: free('web_find_in_page'),
    };
    this.held = this.hold();
  }

  ask(question: Turn, left: PassesLeft): Turn {
    const noCalls = noCallsIn(left);
    this.held = this.hold(noCalls);
    this.calls.sources.learn(question.context);
    const isOffered = noCalls === null;
    const definitions = isOffered ? this.definitions() : [];
    return askWithFunctions(question, {
      replace: (tools) => [...tools.filter((tool) => !isWebSearch(tool)), ...definitions] as Tool[],
      named: (tool) => (isWebSearch(tool) ? [{ type: 'function', name: this.names.search }] : undefined),
      readable: toReadable,
      isOffered,
      isFirst: left.number === 1,
    });
  }

  look(event: ModelEvent): ModelEvent | undefined {
    return this.held.look(event);
  }

  follow(pass: FinishedPass): OwnPass | undefined {
    // Those beyond `max_tool_calls` are left out (protocol §3).
    const made = this.held.take(Math.max(0, pass.toolCallsLeft));
    if (made.length === 0) return undefined;
    const { shared, turn } = this;
    const calls = made.map(({ fn, given }): WebCall => {
      const args = parseJson(given);
      return { id: shared.ids.next('ws'), kind: fn, name: this.names[fn], given, args: isObject(args) ? args : {} };
    });
    const { MCP_MAX_PARALLEL_CALLS: most, MODEL_IDLE_TIMEOUT_MS: idleMs } = shared.environment;
    const options = {
      parallel: turn.settings.parallel_tool_calls ? most : 1,
      signal: pass.signal,
      clock: shared.clock,
      signOfLifeMs: Math.floor(idleMs / 3),
      stored: pass.stored,
    };
    const kind = {
      open: (call: WebCall) => this.calls.open(call),
      make: (call: WebCall) => this.calls.run(call, pass),
      close: (call: WebCall, _key: string, outcome: WebOutcome) => this.calls.close(call, outcome),
    };
    return {
      isLast: false,
      standsFor: made.map(({ fn, given }) => ({ type: 'function_call', name: this.names[fn], arguments: given })),
      async *generate() {
        yield* runCalls(calls, kind, options);
        yield [NO_TOKENS, FINISH];
      },
    };
  }

  private hold(noCalls: NoCalls | null = null): HeldCalls<WebCallKind> {
    const kinds = new Map(Object.entries(this.names).map(([kind, name]) => [name, kind as WebCallKind]));
    return new HeldCalls({ find: (name) => kinds.get(name) }, noCalls);
  }

  private definitions(): readonly Tool[] {
    const { user_location: location, filters } = this.tool;
    const near = [location?.city, location?.region, location?.country].filter((part) => part != null && part !== '');
    const zone = location?.timezone == null ? '' : ` Their time zone is ${location.timezone}.`;
    const where = near.length === 0 ? zone : ` The user is near ${near.join(', ')}.${zone}`;
    const only =
      (filters?.allowed_domains ?? []).length === 0
        ? ''
        : ` Only these domains are searched: ${filters?.allowed_domains?.join(', ')}.`;
    const queries = { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_QUERIES };
    const images = { type: 'boolean', description: 'Whether to look for images.' };
    const text = { type: 'string' };
    const page = { type: 'string', description: 'The URL of the page.' };
    const search = toFunction(
      this.names.search,
      `Searches the web.${where}${only} ${CITE}`,
      { queries, ...(this.calls.findsImages ? { images } : {}) },
      ['queries'],
    );
    if (!this.shared.web.opensPages) return [search];
    const position = { type: 'integer', minimum: 0, description: 'Where in its text to begin; 0 is its start.' };
    return [
      search,
      toFunction(this.names.open_page, `Reads a page of the web as text. ${CITE}`, { url: page, position }, ['url']),
      toFunction(
        this.names.find_in_page,
        `Finds a text in a page of the web, with what stands around it.`,
        { url: page, pattern: text },
        ['url', 'pattern'],
      ),
    ];
  }
}

/** Items as the model reads them: calls with what they have found, and without the tool, which functions stand for. */
function toReadable(items: readonly Item[]): readonly Item[] {
  const known = new Set(items.filter(({ type }) => type === 'function_call').map((call) => call['call_id']));
  return items.flatMap((item) => {
    // What it has found stands beside it.
    if (item.type === 'web_search_call' && known.has(item.id)) return [];
    if (!addsTools(item.type)) return [item];
    const tools = objectsIn(item['tools']);
    return tools.some(isWebSearch) ? [{ ...item, tools: tools.filter((tool) => !isWebSearch(tool)) }] : [item];
  });
}

function toFunction(name: string, description: string, properties: object, required: readonly string[]): Tool {
  const parameters = { type: 'object', properties, required, additionalProperties: false };
  return { type: 'function', name, description, parameters, strict: false };
}
