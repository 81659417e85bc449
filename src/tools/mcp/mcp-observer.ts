/** A request to a server that is over. */
export interface McpRequestRecord {
  /** The label of MCP_SERVERS; `client` for a URL that a client has brought. */
  readonly server: string;
  readonly kind: 'call' | 'list';
  /** The tool of a call. */
  readonly tool: string | null;
  /** `ok`, `tool_error` where the tool itself reports an error, `aborted`, or the kind of the failure. */
  readonly outcome: string;
  readonly durationMs: number;
}

/** What becomes of approvals: they are asked for, and a client answers them, or never does. */
export type McpApprovalStep = 'asked' | 'approved' | 'refused';

/** Is told of every request to an MCP server when it is over, and of approvals; for metrics. */
export abstract class McpObserver {
  abstract ended(record: McpRequestRecord): void;

  abstract approval(step: McpApprovalStep): void;
}
