import type { Turn } from './turn.js';

/** The headers of the trace that a turn belongs to (W3C Trace Context). */
export function traceHeaders({ trace }: Turn): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
