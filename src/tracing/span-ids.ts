import { createHash } from 'node:crypto';

import type { TraceContext } from '../protocol/index.js';

/** Where the span of a turn stands in its trace. */
export interface SpanIds {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** The span of the client; null when the trace begins here. */
  readonly parentId: string | null;
  readonly isSampled: boolean;
}

const SAMPLED = 0x01;

/**
 * The ids of the span of a turn. They follow from the response id, so that every process that runs a part of a turn gives upstreams the same
 * parent, and nothing is kept. The client decides whether its trace is sampled; `ratio`, from 0 to 1, decides for traces that begin here.
 */
export function spanIdsOf(responseId: string, trace: TraceContext | null | undefined, ratio: number): SpanIds {
  const digest = createHash('sha256').update(responseId).digest('hex');
  const spanId = digest.slice(32, 48);
  if (trace != null) {
    const [, traceId = '', parentId = '', flags = ''] = trace.traceparent.split('-');
    return { traceId, spanId, parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
  }
  const traceId = digest.slice(0, 32);
  return { traceId, spanId, parentId: null, isSampled: Number.parseInt(digest.slice(0, 8), 16) < ratio * 2 ** 32 };
}

/** The id of the span of the request with an index to an upstream. */
export function attemptSpanId({ spanId }: SpanIds, index: number): string {
  return createHash('sha256').update(`${spanId} ${index}`).digest('hex').slice(0, 16);
}
