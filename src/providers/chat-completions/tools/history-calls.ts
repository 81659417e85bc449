import { callIdOf, type Item } from '../../../protocol/index.js';
import { isObject, objectsIn, parseJson } from '../../../validation/index.js';
import { hasNoArguments } from './call-writer.js';
import { nameless, type ToolAddress, type ToolKind } from './tool-address.js';
import { INPUT } from './tool-definition.js';
import { addressOf, type ToolTable } from './tool-table.js';

/** A call of the transcript so far, as a function call of Chat Completions. */
export interface HistoryCall {
  readonly callId: string;
  readonly address: ToolAddress;
  /** JSON text. */
  readonly arguments: string;
  /** Whether the model may go on before it has an output. */
  readonly isAsync: boolean;
}

/** The output of a tool: text, or parts if there are images or files. */
export interface HistoryOutput {
  readonly callId: string | undefined;
  readonly output: string | readonly unknown[];
}

/** Readers of calls, by item type. They return undefined for calls that a provider ran. */
const READ_CALL = new Map<string, (item: Item) => HistoryCall | undefined>(
  Object.entries({
    function_call: (item) => call(item, named('function', item), toObjectJson(toWords(item.arguments))),
    custom_tool_call: (item) => call(item, named('custom', item), JSON.stringify({ [INPUT]: item.input })),
    shell_call: (item) => call(item, nameless('shell'), JSON.stringify(withoutNulls(item.action))),
    local_shell_call: (item) => call(item, nameless('local_shell'), JSON.stringify(withoutType(item.action))),
    apply_patch_call: (item) => call(item, nameless('apply_patch'), JSON.stringify(item.operation ?? {})),
    tool_search_call: (item) =>
      item.call_id == null ? undefined : call(item, nameless('tool_search'), JSON.stringify(item.arguments ?? {})),
    // Run by a provider, but sent as an ordinary call.
    mcp_call: (item) => ({
      callId: item.id,
      address: named('function', item),
      arguments: toObjectJson(toWords(item.arguments)),
      isAsync: false,
    }),
  } satisfies Record<string, (item: Item) => HistoryCall | undefined>),
);

const READ_OUTPUT = new Map<string, (item: Item, tools: ToolTable) => HistoryOutput | undefined>(
  Object.entries({
    function_call_output: (item) => output(item, item.output),
    custom_tool_call_output: (item) => output(item, item.output),
    shell_call_output: (item) => output(item, JSON.stringify(item.output ?? [])),
    local_shell_call_output: (item) => output(item, item.output),
    apply_patch_call_output: ({ status, output: words, ...item }) =>
      output(item, JSON.stringify(words == null ? { status } : { status, output: words })),
    tool_search_output: (item, tools) =>
      item.call_id == null ? undefined : output(item, JSON.stringify({ tools: namesIn(item.tools, tools) })),
    mcp_call: (item) => ({ callId: item.id, output: toWords(item.output ?? item.error) }),
  } satisfies Record<string, (item: Item, tools: ToolTable) => HistoryOutput | undefined>),
);

/** The call id of an item; undefined if it is not a call. */
export function callIdOfCall(item: Item): string | undefined {
  return READ_CALL.has(item.type) ? (callIdOf(item) ?? item.id) : undefined;
}

/** Reads an item as a call; undefined for all other items. */
export function readCall(item: Item): HistoryCall | undefined {
  return READ_CALL.get(item.type)?.(item);
}

/** Reads the output of an item; undefined if it has none. `tools` are those that the model can call. */
export function readOutput(item: Item, tools: ToolTable): HistoryOutput | undefined {
  return READ_OUTPUT.get(item.type)?.(item, tools);
}

function call(item: Item, address: ToolAddress, json: string): HistoryCall {
  return { callId: callIdOf(item) ?? item.id, address, arguments: json, isAsync: item['async'] === true };
}

function output(item: Item, value: unknown): HistoryOutput {
  return { callId: callIdOf(item), output: Array.isArray(value) ? (value as readonly unknown[]) : toWords(value) };
}

function named(kind: ToolKind, { name, namespace }: Item): ToolAddress {
  return { kind, name: toWords(name), ...(typeof namespace === 'string' ? { namespace } : {}) };
}

/**
 * Wraps arguments that are not a JSON object in one: servers parse the arguments of earlier calls and reject the whole transcript
 * if one is invalid.
 */
function toObjectJson(json: string): string {
  if (hasNoArguments(json)) return '{}';
  return isObject(parseJson(json)) ? json : JSON.stringify({ [INPUT]: json });
}

/** A value as text: a text as it is, nothing as an empty one, anything else as JSON. */
export function toWords(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

function withoutNulls(value: unknown): object {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null && member !== undefined));
}

function withoutType(value: unknown): object {
  const { type: _, env, ...members } = withoutNulls(value) as { readonly type?: unknown; readonly env?: object };
  return env === undefined || Object.keys(env).length === 0 ? members : { ...members, env };
}

/** The names under which the model can call the tools that a search found. */
function namesIn(found: unknown, tools: ToolTable, namespace?: string): readonly string[] {
  return objectsIn(found).flatMap((tool) => {
    if (tool.type === 'namespace') return namesIn(tool.tools, tools, String(tool.name));
    const address = addressOf(tool, namespace);
    return address === undefined ? [] : [tools.nameOf(address)];
  });
}
