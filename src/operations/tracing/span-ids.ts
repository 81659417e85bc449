import { hash } from 'node:crypto';

import type { TraceContext } from '../../protocol/index.js';

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

/** The end of an id of the service: a UUID of version 7, whose last 12 digits are random. */
const UUID = /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/;

/**
 * The ids of the span of a turn. They follow from the response id, so that every process that runs a part of a turn gives upstreams the same
 * parent, and nothing is kept. The client decides whether its trace is sampled; `ratio`, from 0 to 1, decides for traces that begin here.
 */
export function spanIdsOf(responseId: string, trace: TraceContext | null | undefined, ratio: number): SpanIds {
  const digits = digitsOf(responseId);
  const spanId = digits.slice(16);
  if (trace != null) {
    const [, traceId = '', parentId = '', flags = ''] = trace.traceparent.split('-');
    return { traceId, spanId, parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
  }
  return {
    traceId: digits,
    spanId,
    parentId: null,
    isSampled: Number.parseInt(digits.slice(-8), 16) < ratio * 2 ** 32,
  };
}

/** The id of a span below that of the turn: of the request to an upstream with an index, or of the call with an id. */
export function childSpanId({ spanId }: SpanIds, child: number | string): string {
  return hash('sha256', `${spanId} ${child}`).slice(0, 16);
}

/** 32 hex digits for a response; generators of programs may make other ids. */
function digitsOf(responseId: string): string {
  const end = responseId.slice(-32);
  return UUID.test(end) ? end : hash('sha256', responseId).slice(0, 32);
}
