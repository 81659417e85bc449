/**
 * How an agent sends its turns: new items over a socket or over HTTP, or the full history over HTTP. Only new items over HTTP
 * require stored responses.
 */
export type AgentTransport = 'socket' | 'http' | 'http with full history';

/** Concurrent agents, each of which answers calls in sequence. */
export interface AgentJob {
  readonly type: 'agent';
  /** Origin of the server, `http://…`. */
  readonly origin: string;
  readonly transport: AgentTransport;
  readonly agents: number;
  /** Turns per agent. */
  readonly turns: number;
}

/** The outcome of the agents. */
export interface AgentOutcome {
  /** Turns of all agents. */
  readonly turns: number;
  /** Bytes of one agent's requests, without protocol overhead. */
  readonly sentBytes: number;
  /** Bytes of its last request. */
  readonly lastSentBytes: number;
  /** Context items of the last turn. */
  readonly lastItems: number;
  /** Arguments of the call that ended the last turn, JSON. */
  readonly lastArguments: string;
}
