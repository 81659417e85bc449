import type * as OpenAI from 'openai/resources/responses/responses';

import type { McpOutcome, McpServer, McpToolInfo } from '../../tools/mcp/index.js';
import { ApiError, type ForeignItem } from '../../protocol/index.js';
import type { ModelEvent } from '../../providers/index.js';
import { isObject, parseJson } from '../../validation/index.js';
import type { ToolRun } from '../turn/turn-observer.js';
import { ALIVE, reported, runCalls, type RunOptions, toEvent, untilAlive } from './run-calls.js';

/** A call of a tool of a server, as a model has made it. */
export interface McpCall {
  readonly label: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /** The request that was approved; null for a call that needed none. */
  readonly approvalId: string | null;
}

/** A call that is sent to its server, or whose outcome is known already. */
export interface PlannedCall extends McpCall {
  /** The id of its item. */
  readonly id: string;
  readonly server: McpServer;
  /** What is known without the server; null for a call to send. */
  readonly outcome: McpOutcome | null;
}

/** How the calls of a response are run. */
export interface McpRunOptions extends RunOptions {
  /** The response that the calls belong to. */
  readonly responseId: string;
  /** Is told of each call that was sent, when it has ended. */
  readonly ran: (run: ToolRun) => void;
}

/** Outcomes that are known without the server. */
export const NO_OBJECT: McpOutcome = toFailure('The arguments are not a JSON object.');
export const NOT_OFFERED: McpOutcome = toFailure('The server does not offer this tool.');
export const MAY_HAVE_BEEN_SENT: McpOutcome = toFailure(
  'The service stopped while this call ran. Whether the server has carried it out is unknown; it was not sent again.',
);

/** Runs calls side by side, and writes an `mcp_call` item for each (protocol §4), and `after` behind the last. A failed call is an item with an error. */
export function runMcpCalls(
  calls: readonly PlannedCall[],
  options: McpRunOptions,
  after: readonly ModelEvent[] = [],
): AsyncGenerator<readonly ModelEvent[]> {
  const kind = { open: openCall, make: (call: PlannedCall) => send(call, options), close: closeCall };
  return runCalls(calls, kind, options, after);
}

/**
 * Lists the tools of servers, `parallel` of them at once, and writes an `mcp_list_tools` item for each when it is known, as its id authenticates it.
 * `listed` gets each list, and when it was asked for (Unix, ms), and returns the id, and the tools as items have them. Throws ApiError 424 for the first
 * failure, at the end.
 */
export async function* listTools(
  servers: readonly McpServer[],
  options: RunOptions,
  listed: (
    label: string,
    tools: readonly McpToolInfo[],
    askedAt: number,
  ) => Promise<{ readonly id: string; readonly tools: readonly object[] }>,
): AsyncGenerator<readonly ModelEvent[]> {
  type Listed = {
    readonly label: string;
    readonly askedAt: number;
    readonly tools: readonly McpToolInfo[] | null;
    readonly error?: unknown;
  };
  const waiting = [...servers];
  const running = new Map<string, Promise<Listed>>();
  let failure: { readonly error: unknown } | null = null;
  while (waiting.length > 0 || running.size > 0) {
    for (const server of waiting.splice(0, options.parallel - running.size)) {
      const { label } = server;
      const askedAt = options.clock.now();
      const asked = server
        .list(options.signal)
        .then((tools) => ({ label, askedAt, tools }))
        .catch((error: unknown) => ({ label, askedAt, tools: null, error }));
      running.set(label, asked);
    }
    const ended = await untilAlive(Promise.race(running.values()), options);
    if (ended === undefined) {
      yield ALIVE;
      continue;
    }
    const { label, askedAt, tools, error } = ended;
    running.delete(label);
    if (tools === null) {
      options.signal.throwIfAborted();
      failure ??= { error };
    }
    const made = tools === null ? null : await listed(label, tools, askedAt);
    yield writeList(label, made ?? { tools: [], error: messageOf(error) });
  }
  if (failure === null) return;
  const { error: cause } = failure;
  throw ApiError.of('http_error', messageOf(cause), { param: 'tools', cause });
}

/** The events of a request for an approval. */
export function askForApproval(id: string, { label, name, arguments: given }: McpCall): readonly ModelEvent[] {
  const item = {
    type: 'mcp_approval_request',
    id,
    server_label: label,
    name,
    arguments: given,
  } satisfies OpenAI.ResponseOutputItem.McpApprovalRequest;
  return [
    { type: 'item.open', key: id, item },
    { type: 'item.close', key: id, item },
  ];
}

/** The arguments of a call; undefined for what is not a JSON object. */
export function readArguments(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

function send(
  { id: callId, server, label, name, arguments: given, outcome }: PlannedCall,
  { signal, responseId, clock, ran }: McpRunOptions,
): Promise<McpOutcome> {
  if (outcome !== null) return Promise.resolve(outcome);
  return reported(
    { callId, name, server: label },
    { clock, ran },
    () => server.call(name, readArguments(given) ?? {}, { signal, responseId }),
    (ended) => ('error' in ended ? ended.error.type : null),
  );
}

function openCall({ id, label, name, arguments: given, approvalId }: PlannedCall, key: string): readonly ModelEvent[] {
  const item = {
    type: 'mcp_call',
    id,
    status: 'in_progress',
    server_label: label,
    name,
    arguments: '',
    approval_request_id: approvalId,
    output: null,
    error: null,
  } satisfies OpenAI.ResponseOutputItem.McpCall;
  return [
    { type: 'item.open', key, item },
    toEvent(key, 'mcp_call.in_progress'),
    toEvent(key, 'mcp_call_arguments.delta', { delta: given }),
    toEvent(key, 'mcp_call_arguments.done', { arguments: given }),
  ];
}

function closeCall(
  { id, label, name, arguments: given, approvalId }: PlannedCall,
  key: string,
  outcome: McpOutcome,
): readonly ModelEvent[] {
  const status = 'error' in outcome ? 'failed' : 'completed';
  const item = {
    type: 'mcp_call',
    id,
    status,
    server_label: label,
    name,
    arguments: given,
    approval_request_id: approvalId,
    output: 'error' in outcome ? null : outcome.output,
    error: 'error' in outcome ? outcome.error : null,
  } satisfies OpenAI.ResponseOutputItem.McpCall;
  return [toEvent(key, `mcp_call.${status}`), { type: 'item.close', key, item }];
}

/** The events of a list, made or failed. */
function writeList(
  label: string,
  list: { readonly tools: readonly object[]; readonly error?: string },
): readonly ModelEvent[] {
  const key = `list ${label}`;
  const item: ForeignItem = { type: 'mcp_list_tools', server_label: label, ...list };
  return [
    { type: 'item.open', key, item: { ...item, tools: [] } },
    toEvent(key, 'mcp_list_tools.in_progress'),
    toEvent(key, `mcp_list_tools.${list.error === undefined ? 'completed' : 'failed'}`),
    { type: 'item.close', key, item },
  ];
}

/** A tool as lists have it: clients take a missing member, but some of them no null. */
export function toListed({ description, annotations, ...tool }: McpToolInfo): object {
  return { ...tool, ...(description == null ? {} : { description }), ...(annotations == null ? {} : { annotations }) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function toFailure(text: string): McpOutcome {
  return { error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] } };
}
