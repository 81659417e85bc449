/**
 * How an agent goes on: with what is new, over one socket or over HTTP, or with everything that was said so far over HTTP. Over
 * HTTP what is new needs a server that stores responses; the others store nothing.
 */
export type AgentRoad = 'socket' | 'http' | 'http with full history';

/** Agents that work side by side, each answering one call after the other. */
export interface AgentJob {
  readonly type: 'agent';
  /** Of the server, `http://…`. */
  readonly origin: string;
  readonly road: AgentRoad;
  readonly agents: number;
  /** Turns of each agent. */
  readonly turns: number;
}

/** What the agents did. */
export interface AgentOutcome {
  /** Of all agents together. */
  readonly turns: number;
  /** Bytes of the requests of one agent, without what HTTP and WebSocket add. */
  readonly sentBytes: number;
  /** The same of its last turn alone. */
  readonly lastSentBytes: number;
  /** Items that the model saw in the last turn. */
  readonly lastItems: number;
}
