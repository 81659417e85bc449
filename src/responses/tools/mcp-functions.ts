import { addsTools, ApiError, type Item, type Tool } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';
import {
  mcpFunctionName,
  outputOfMcpCall,
  outputOfRefusedCall,
  toFunctionCall,
} from '../../providers/transcripts/index.js';
import type { McpToolInfo, McpToolParam } from '../../tools/mcp/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';
import { isAllowed } from './mcp-rules.js';
import { askWithFunctions, type NamedFunction } from './tool-choice.js';

/** A tool of a server, as the model knows it. */
export interface McpFunction {
  readonly label: string;
  readonly tool: McpToolInfo;
  /** Whether the model finds it only through a search. */
  readonly isDeferred: boolean;
}

/** What the context of a turn with MCP tools has of them. */
const MCP_ITEMS: ReadonlySet<string> = new Set([
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
]);

/**
 * The functions that stand for the tools of MCP servers: any model that can call functions can call them. Their names hold the label of
 * the server, so that tools of the same name do not meet.
 */
export class McpFunctions {
  private readonly byName = new Map<string, McpFunction>();

  /**
   * `labels`: the servers that the service calls, with whether their tools are known; `injected`: those of them that the request does not
   * name; `taken`: the names of the client's tools; `seesImages`: whether the model is given the images of results.
   */
  constructor(
    private readonly labels: ReadonlyMap<string, boolean>,
    functions: Iterable<McpFunction>,
    private readonly options: {
      readonly injected?: readonly string[];
      readonly taken?: ReadonlySet<unknown>;
      readonly seesImages?: boolean;
    } = {},
  ) {
    for (const each of functions) this.byName.set(this.nameOf(each.label, each.tool.name), each);
  }

  /** The tool that a function stands for. */
  find(name: string): McpFunction | undefined {
    return this.byName.get(name);
  }

  /**
   * The question with functions in place of MCP tools, in its tools, its choice and its context. `isOffered`: whether the model may call
   * them; `isFirst`: whether the choice of the request still counts, which would otherwise demand a call for ever. Throws ApiError for the
   * choice of a tool that its server does not have.
   */
  ask(question: Turn, { isOffered, isFirst }: { readonly isOffered: boolean; readonly isFirst: boolean }): Turn {
    const injected = (this.options.injected ?? []).map((label) => ({ type: 'mcp', server_label: label }));
    return askWithFunctions(question, {
      replace: (tools) =>
        [...tools, ...injected].flatMap((tool) =>
          this.isOwn(tool) ? (isOffered ? this.definitionsOf(tool) : []) : [tool as Tool],
        ),
      named: (tool) => (this.isOwn(tool) ? (isOffered ? this.named(tool) : []) : undefined),
      readable: (items) => this.readable(items, isOffered, question),
      isOffered,
      isFirst,
    });
  }

  /**
   * Items as a model reads them that knows functions alone: calls with their outputs, and functions that a search has found. `question` has
   * the requests that the input answers.
   */
  private readable(items: readonly Item[], isOffered: boolean, question: Turn): readonly Item[] {
    if (!items.some(({ type }) => MCP_ITEMS.has(type) || addsTools(type))) return items;
    const answers = new Map<string, Item>();
    const run = new Set<unknown>();
    const requested = new Set<string>();
    for (const item of items) {
      if (isAnswer(item)) answers.set(String(item['approval_request_id']), item);
      else if (item.type === 'mcp_call') run.add(item['approval_request_id']);
    }
    for (const item of answers.size === 0 ? [] : question.context) {
      if (this.isOfServer(item, 'mcp_approval_request')) requested.add(item.id);
    }
    const read: Item[] = [];
    for (const item of items) {
      if (isAnswer(item)) {
        if (!requested.has(String(item['approval_request_id']))) read.push(item);
      } else if (this.isOfServer(item, 'mcp_call')) {
        const output = outputOfMcpCall(item);
        read.push(...this.toPair(item, this.options.seesImages === true ? withImages(output) : output));
      } else if (this.isOfServer(item, 'mcp_approval_request')) {
        if (!run.has(item.id)) read.push(...this.toPair(item, outputOfRefusedCall(answers.get(item.id))));
      } else if (addsTools(item.type)) {
        read.push(this.withFunctions(item, isOffered));
      } else if (!this.isOfServer(item, 'mcp_list_tools')) {
        read.push(item);
      }
    }
    return read;
  }

  /** The name of the function that stands for a tool: the same in every turn with the same functions of the client. */
  private nameOf(label: string, tool: string): string {
    return mcpFunctionName(label, tool, this.options.taken);
  }

  private toPair(item: Item, output: string | readonly object[]): readonly Item[] {
    return toFunctionCall(item, this.nameOf(String(item['server_label']), String(item['name'])), output);
  }

  /** An item that adds tools to those of the request, with functions in place of them: what it names is not deferred any more. */
  private withFunctions(item: Item, isOffered: boolean): Item {
    const tools = objectsIn(item['tools']);
    if (!tools.some((tool) => this.isOwn(tool))) return item;
    const replaced = tools.flatMap((tool): readonly object[] => {
      if (!this.isOwn(tool)) return [tool];
      return isOffered
        ? this.functionsOf(tool).map(([name, each]) => toDefinition(name, { ...each, isDeferred: false }))
        : [];
    });
    return { ...item, tools: replaced };
  }

  /** A choice may leave open of which server. */
  private isOwn(tool: object): boolean {
    const { type, server_label: label } = tool as Readonly<Record<string, unknown>>;
    if (type !== 'mcp') return false;
    return typeof label === 'string' ? this.labels.has(label) : this.labels.size > 0;
  }

  private isOfServer(item: Item, type: string): boolean {
    return item.type === type && this.labels.has(String(item['server_label']));
  }

  private definitionsOf(tool: object): Tool[] {
    return this.functionsOf(tool).map(([name, each]) => toDefinition(name, each));
  }

  /** The functions of a server, as far as a tool allows them. */
  private functionsOf(tool: object): readonly (readonly [string, McpFunction])[] {
    const { server_label: label, allowed_tools: allowed } = tool as McpToolParam;
    return [...this.byName].filter(([, each]) => each.label === label && isAllowed(each.tool, allowed));
  }

  /** The functions that a choice names. */
  private named(choice: object): readonly NamedFunction[] {
    const { server_label: label, name: wanted } = choice as {
      readonly server_label?: string | null;
      readonly name?: string | null;
    };
    const isNamed = ({ label: own, tool }: McpFunction): boolean =>
      (label == null || own === label) && (wanted == null || tool.name === wanted);
    const found = [...this.byName].filter(([, each]) => isNamed(each));
    // A count of tokens lists no tools.
    const isListed = label == null ? [...this.labels.values()].includes(true) : this.labels.get(label) === true;
    if (found.length > 0 || !isListed) return found.map(([name]) => ({ type: 'function', name }));
    const what = wanted == null ? 'tools' : `tool '${wanted}'`;
    const who = label == null ? 'No MCP server of this request offers any' : `The MCP server '${label}' offers no`;
    throw ApiError.badRequest(`${who} ${what} that could be chosen.`, 'tool_choice');
  }
}

/** The definitions of tools, which stay what they are from turn to turn. */
const definitions = new WeakMap<
  McpToolInfo,
  { readonly isDeferred: boolean; readonly definition: Tool & { readonly name: string } }
>();

function toDefinition(name: string, { tool, isDeferred }: McpFunction): Tool {
  const known = definitions.get(tool);
  if (known?.definition.name === name && known.isDeferred === isDeferred) return known.definition;
  const { description, input_schema: schema } = tool;
  // Upstreams demand the member, which a tool without arguments may lack.
  const parameters = { properties: {}, ...schema };
  const definition = {
    type: 'function' as const,
    name,
    description: description ?? null,
    parameters,
    strict: false,
    ...(isDeferred ? { defer_loading: true } : {}),
  };
  definitions.set(tool, { isDeferred, definition });
  return definition;
}

function isAnswer({ type }: Item): boolean {
  return type === 'mcp_approval_response';
}

/** The types of images that models see. */
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The output of a call, with its images as such: as a text their data would be some thousand tokens that say nothing. */
function withImages(output: string): string | readonly object[] {
  if (!output.includes('"mimeType":"image/')) return output;
  const parts: object[] = [];
  let text: string[] = [];
  const write = (): void => {
    if (text.length > 0) parts.push({ type: 'input_text', text: text.join('\n') });
    text = [];
  };
  for (const line of output.split('\n')) {
    const url = imageIn(line);
    if (url === undefined) text.push(line);
    else {
      write();
      parts.push({ type: 'input_image', image_url: url, detail: 'auto' });
    }
  }
  if (parts.length === 0) return output;
  write();
  return parts;
}

/** The image that a line is, as a data URL: a part of a result, or a resource in one. */
function imageIn(line: string): string | undefined {
  const part = line.startsWith('{') ? parseJson(line) : undefined;
  if (!isObject(part)) return undefined;
  const resource = isObject(part.resource) ? part.resource : {};
  const [data, type] = part.type === 'image' ? [part.data, part.mimeType] : [resource.blob, resource.mimeType];
  if (typeof data !== 'string' || typeof type !== 'string' || !IMAGE_TYPE.test(type) || !BASE64.test(data))
    return undefined;
  return `data:${type};base64,${data}`;
}
