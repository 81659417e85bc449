/** The trace that a request belongs to, as its headers have it (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}
