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
  const own = typeof clientMetadata === 'object' && clientMetadata !== null ? clientMetadata : {};
  for (const read of [
    (name: string): unknown => Reflect.get(own, name),
    (name: string): unknown => Reflect.get(own, OF_SOCKETS + name),
    (name: string): unknown => headers[name],
  ]) {
    const [traceparent, tracestate] = [read('traceparent'), read('tracestate')];
    if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) continue;
    const isState = typeof tracestate === 'string' && TRACESTATE.test(tracestate);
    return isState ? { traceparent, tracestate } : { traceparent };
  }
  return undefined;
}
