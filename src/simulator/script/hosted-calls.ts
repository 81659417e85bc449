import type * as Responses from 'openai/resources/responses/responses';

import type { ForeignItem, Includable } from '../../protocol/index.js';
import type { ForeignEvent, ModelEvent } from '../../providers/index.js';

/** A search of the web, or its query alone. */
export type ScriptSearch = string | { readonly query: string; readonly sources?: readonly string[] };

/** A search in files, or its query alone. */
export type ScriptFileSearch = string | { readonly query: string; readonly results?: readonly ScriptFileResult[] };

/** A part of a file that a search found. */
interface ScriptFileResult {
  readonly file_id?: string;
  readonly filename?: string;
  readonly text?: string;
  readonly score?: number;
}

/** A run of Python, or its code alone. */
export type ScriptCode = string | { readonly code: string; readonly output?: string; readonly container?: string };

/** An image, or the prompt for it alone. `result` and the `partial` ones are in base64. */
export type ScriptImage =
  | string
  | {
      readonly prompt: string;
      readonly result?: string;
      readonly partial?: readonly string[];
      readonly format?: 'png' | 'webp' | 'jpeg';
      readonly size?: string;
    };

/** A call of a tool of an MCP server, or `server.tool` alone. */
export type ScriptMcp = string | ScriptMcpCall;

/** A call of a tool of an MCP server. */
export interface ScriptMcpCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly output?: string;
  /** The call fails with this message. */
  readonly error?: string;
  /** Whether the client has to approve the call first. */
  readonly approval?: boolean;
}

/** A gray pixel, PNG. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

/** What a script says of a call, with all members. */
export function toMcpCall(mcp: ScriptMcp): ScriptMcpCall {
  if (typeof mcp !== 'string') return mcp;
  const dot = mcp.indexOf('.');
  return { server: mcp.slice(0, dot), tool: mcp.slice(dot + 1) };
}

/** The events of items of hosted tools, as OpenAI's models send them. `include` are the additional members that the client wants. */
export class HostedCalls {
  private count = 0;

  constructor(private readonly include: readonly Includable[]) {}

  search(search: ScriptSearch): readonly ModelEvent[] {
    const { query, sources = [] } = typeof search === 'string' ? { query: search } : search;
    const urls = sources.map((url) => ({ type: 'url' as const, url }));
    const shown = this.include.includes('web_search_call.action.sources') ? { sources: urls } : {};
    const action = { type: 'search' as const, query, queries: [query] };
    const item = {
      type: 'web_search_call',
      status: 'completed',
      action: { ...action, ...shown },
    } satisfies ItemOf<Responses.ResponseFunctionWebSearch>;
    return this.play(item, { status: 'in_progress', action }, ['in_progress', 'searching', 'completed']);
  }

  files(search: ScriptFileSearch): readonly ModelEvent[] {
    const { query, results = [] } = typeof search === 'string' ? { query: search } : search;
    const empty = { filename: '', score: 1, text: '', attributes: {} };
    const found = results.map((result, index) => ({ file_id: `file-${index}`, ...empty, ...result }));
    const isShown = this.include.includes('file_search_call.results');
    const item = {
      type: 'file_search_call',
      status: 'completed',
      queries: [query],
      results: isShown ? found : null,
    } satisfies ItemOf<Responses.ResponseFileSearchToolCall>;
    return this.play(item, { status: 'in_progress', results: null }, ['in_progress', 'searching', 'completed']);
  }

  /** `deltas` are the pieces of the code. */
  code(run: ScriptCode, deltas: readonly string[]): readonly ModelEvent[] {
    const { code, output, container = 'cntr_simulated' } = typeof run === 'string' ? { code: run } : run;
    const isShown = this.include.includes('code_interpreter_call.outputs');
    const outputs = output === undefined ? [] : [{ type: 'logs' as const, logs: output }];
    const item = {
      type: 'code_interpreter_call',
      status: 'completed',
      code,
      container_id: container,
      outputs: isShown ? outputs : null,
    } satisfies ItemOf<Responses.ResponseCodeInterpreterToolCall>;
    const written = toEvents('_code', deltas, { code });
    return this.play(item, { status: 'in_progress', code: '', outputs: null }, [
      'in_progress',
      ...written,
      'interpreting',
      'completed',
    ]);
  }

  image(image: ScriptImage): readonly ModelEvent[] {
    const given = typeof image === 'string' ? { prompt: image } : image;
    const { prompt, result = PIXEL, partial = [], format = 'png', size = '1024x1024' } = given;
    const looks = { output_format: format, size, quality: 'auto', background: 'opaque' } as const;
    const item = {
      type: 'image_generation_call',
      status: 'completed',
      result,
      revised_prompt: prompt,
      action: 'generate',
      ...looks,
    } satisfies ItemOf<Responses.ResponseOutputItem.ImageGenerationCall>;
    const previews = partial.map((data, index) => ({
      type: '.partial_image',
      partial_image_index: index,
      partial_image_b64: data,
      ...looks,
    }));
    const happenings = ['in_progress', 'generating', ...previews, 'completed'];
    return this.play(item, { status: 'in_progress', result: null }, happenings);
  }

  /** The tools of an MCP server, by their names. */
  mcpTools(server: string, names: readonly string[]): readonly ModelEvent[] {
    const tools = names.map((name) => ({
      name,
      description: null,
      input_schema: { type: 'object' },
      annotations: null,
    }));
    const item = {
      type: 'mcp_list_tools',
      server_label: server,
      tools,
    } satisfies ItemOf<Responses.ResponseOutputItem.McpListTools>;
    return this.play(item, { tools: [] }, ['in_progress', 'completed']);
  }

  mcpApproval({ server, tool, arguments: given = {} }: ScriptMcpCall): readonly ModelEvent[] {
    const item = {
      type: 'mcp_approval_request',
      server_label: server,
      name: tool,
      arguments: JSON.stringify(given),
    } satisfies ItemOf<Responses.ResponseOutputItem.McpApprovalRequest>;
    return this.play(item, {}, []);
  }

  /** `deltas` are the pieces of the arguments; `requestId` is that of the approval. */
  mcp(call: ScriptMcpCall, deltas: readonly string[], requestId: string | null): readonly ModelEvent[] {
    const { server, tool, arguments: given = {}, output = '', error } = call;
    const status = error === undefined ? 'completed' : 'failed';
    const item = {
      type: 'mcp_call',
      status,
      server_label: server,
      name: tool,
      arguments: JSON.stringify(given),
      approval_request_id: requestId,
      output: error === undefined ? output : null,
      error: error === undefined ? null : toMcpError(error),
    } satisfies ItemOf<Responses.ResponseOutputItem.McpCall>;
    const written = toEvents('_arguments', deltas, { arguments: item.arguments });
    const opened = { status: 'in_progress', arguments: '', output: null, error: null };
    return this.play(item, opened, ['in_progress', ...written, status]);
  }

  /**
   * The events of an item. `opened`: what is different at its start. `happenings`: the ends of the types of its events, with their other
   * members.
   */
  private play(
    item: ForeignItem,
    opened: object,
    happenings: readonly (string | ForeignEvent)[],
  ): readonly ModelEvent[] {
    const key = `hosted ${++this.count}`;
    const events = happenings.map((happening): ModelEvent => {
      const { type, ...members } = typeof happening === 'string' ? { type: `.${happening}` } : happening;
      return { type: 'item.event', key, event: { type: `response.${item.type}${type}`, ...members } };
    });
    return [{ type: 'item.open', key, item: { ...item, ...opened } }, ...events, { type: 'item.close', key, item }];
  }
}

/** An item of the SDK, whose id the service gives. */
type ItemOf<SdkItem> = Omit<SdkItem, 'id'>;

function toMcpError(text: string): Responses.McpToolCallError {
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] };
}

function toEvents(name: string, deltas: readonly string[], done: object): readonly ForeignEvent[] {
  return [...deltas.map((delta) => ({ type: `${name}.delta`, delta })), { type: `${name}.done`, ...done }];
}
