import type { ResponseObject } from './wire.js';

/**
 * One event of a response's stream, serialised once. `json` is the event as JSON text without its closing brace, so
 * that each transport can add its own members (`obfuscation` on SSE, `stream_id` on a socket) and close it.
 */
export interface StreamEvent {
  readonly type: string;
  /** From 0, without gaps, per response: the resume cursor (protocol §4). */
  readonly sequenceNumber: number;
  readonly json: string;
  /** Length of the `delta` in characters where the event carries one, else -1: SSE obfuscation pads by it. */
  readonly deltaLength: number;
  /** The `delta` as JSON text, which ends `json`, where it is known: events that were read from a log do not have it. */
  readonly delta?: string | undefined;
  /** The final Response, on the one terminal event; null on all others. */
  readonly response: ResponseObject | null;
}

const DELTA = ',"delta":';

/** The `delta` of an event that carries one, as JSON text. The event need not be parsed, nor its text put together where the delta is known. */
export function deltaOf({ json, delta }: StreamEvent): string {
  return delta ?? json.slice(json.lastIndexOf(DELTA) + DELTA.length);
}

/** The statuses that the run of a response ends with. */
export type TerminalStatus = 'completed' | 'incomplete' | 'failed';

/** The statuses that a response ends with: a background response may be cancelled, by someone else than its run. */
export type FinalStatus = TerminalStatus | 'cancelled';

/**
 * The terminal event types, by the status that the response ended with (protocol §4, order rule 6). There is no event
 * for `cancelled`; SDKs accept `response.incomplete`, and take it neither for a success nor for an error.
 */
export const TERMINAL_EVENTS = {
  completed: 'response.completed',
  incomplete: 'response.incomplete',
  failed: 'response.failed',
  cancelled: 'response.incomplete',
} as const satisfies Record<FinalStatus, string>;

/** Whether nothing follows an event. */
export function isTerminalEvent(event: StreamEvent | undefined): boolean {
  return event !== undefined && TERMINAL_TYPES.has(event.type);
}

const TERMINAL_TYPES: ReadonlySet<string> = new Set(Object.values(TERMINAL_EVENTS));
