import type { CallToolResult } from '@modelcontextprotocol/client';
import type * as OpenAI from 'openai/resources/responses/responses';

/** What a server says of a tool's behaviour. They are hints: only those of a server that the operator trusts mean anything. */
export interface McpToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool of a server, as `mcp_list_tools` items have it. */
export interface McpToolInfo {
  readonly name: string;
  readonly description: string | null;
  /** JSON Schema of the arguments. */
  readonly input_schema: object;
  readonly annotations: McpToolAnnotations | null;
}

/**
 * The end of a call: what the tool returned as text (docs/mcp.md has the rules), or an error in one of the three forms that `mcp_call` items
 * have. Neither contains credentials of the server.
 */
export type McpOutcome = { readonly output: string } | { readonly error: OpenAI.McpToolCallError };

/**
 * The text of a result, a line or more for each part: the structured result as JSON, in place of the texts that repeat it, or else the
 * texts as they are; then images, audio and resources as the JSON of their parts.
 */
export function toOutput({ content, structuredContent }: CallToolResult): string {
  const isStructured = structuredContent !== undefined;
  const parts = isStructured ? content.filter(({ type }) => type !== 'text') : content;
  const lines = parts.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part)));
  return (isStructured ? [JSON.stringify(structuredContent), ...lines] : lines).join('\n');
}

/** Tools by name, or by their `readOnlyHint`. */
export interface McpToolFilter {
  readonly tool_names?: readonly string[] | null;
  readonly read_only?: boolean | null;
}

/** The `mcp` tool of a request (protocol §3.4). */
export interface McpToolParam {
  readonly type: 'mcp';
  readonly server_label: string;
  readonly server_url?: string | null;
  readonly connector_id?: string | null;
  readonly tunnel_id?: string | null;
  readonly server_description?: string | null;
  readonly headers?: Readonly<Record<string, string>> | null;
  /** A token for the server, without a scheme: it is sent as `Bearer`. */
  readonly authorization?: string | null;
  readonly allowed_tools?: readonly string[] | McpToolFilter | null;
  readonly require_approval?:
    'always' | 'never' | { readonly always?: McpToolFilter | null; readonly never?: McpToolFilter | null } | null;
  readonly defer_loading?: boolean | null;
}

/** How far a call has come, as its server tells. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Settings of a call. */
export interface McpCallOptions {
  readonly signal: AbortSignal;
  /** The response that the call belongs to, for tools of the program. */
  readonly responseId?: string;
  readonly onProgress?: (progress: McpProgress) => void;
}

/** Whose approval a call needs. */
export type McpApproval = 'always' | 'never';

/** A server as one tenant, with one set of credentials, may use it. It is cheap: connections are opened when needed, and shared. */
export interface McpServer {
  readonly label: string;
  readonly description: string | null;
  /** Hash of what identifies the server to the tenant: its label and URL, never a credential. Approvals are bound to it. */
  readonly identity: string;
  /** Whether the operator's configuration offers a tool; requests can only narrow it with `allowed_tools`. */
  offers(name: string): boolean;
  /** The operator's rule for a tool, which requests can make stricter but never weaker; undefined: the request decides. */
  approvalOf(tool: McpToolInfo | string): McpApproval | undefined;
  /** Whether a list that was made at a time (Unix, ms) must be made anew: it is too old, or the server has said that it changed. */
  isStale(listedAtMs: number): boolean;
  /** The tools of all pages, without those that are not offered. Rejects with McpListError, or the reason of the signal. */
  list(signal: AbortSignal): Promise<readonly McpToolInfo[]>;
  /** Calls a tool. A failure is an outcome; it rejects only with the reason of the signal, and tells the server then. */
  call(name: string, args: Readonly<Record<string, unknown>>, options: McpCallOptions): Promise<McpOutcome>;
}

/** The tools of a server could not be listed. The message is for clients, without credentials; the cause is for the log. */
export class McpListError extends Error {
  override readonly name = 'McpListError';

  /** `reason`: the message without the name of the server. */
  constructor(
    label: string,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`Error retrieving tool list from MCP server: '${label}'. ${reason}`, options);
  }
}

/** Whether a tool is one of a filter, by all that it says. What is not known to be read-only is not. */
export function matchesFilter(filter: McpToolFilter | null | undefined, tool: McpToolInfo | string): boolean {
  const { tool_names: names, read_only: isReadOnly } = filter ?? {};
  if (names == null && isReadOnly == null) return false;
  const [name, hint] = typeof tool === 'string' ? [tool, false] : [tool.name, tool.annotations?.readOnlyHint === true];
  return (names == null || names.includes(name)) && (isReadOnly == null || hint === isReadOnly);
}
