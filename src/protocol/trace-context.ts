/** The trace that a request belongs to, as its headers have it (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Version 00, the only one so far: trace id, id of the parent span, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Members of `name=value`, in printable characters. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** Where Codex puts the headers of a turn on a socket. */
const OF_SOCKETS = 'ws_request_header_';

/**
 * The trace of a turn: from `client_metadata`, where a turn on a socket has headers of its own, otherwise from the headers. Undefined without
 * a valid `traceparent`.
 */
export function readTraceContext(
  headers: Readonly<Record<string, unknown>>,
  clientMetadata: unknown,
): TraceContext | undefined {
  const own = typeof clientMetadata === 'object' ? (clientMetadata as Readonly<Record<string, unknown>> | null) : null;
  const ofTurn =
    own === null
      ? undefined
      : (toContext(own['traceparent'], own['tracestate']) ??
        toContext(own[`${OF_SOCKETS}traceparent`], own[`${OF_SOCKETS}tracestate`]));
  return ofTurn ?? toContext(headers['traceparent'], headers['tracestate']);
}

function toContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  const isState = typeof tracestate === 'string' && TRACESTATE.test(tracestate);
  return isState ? { traceparent, tracestate } : { traceparent };
}
