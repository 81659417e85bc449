import type { Attributes, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

import { readVersion } from '../../read-version.js';
import { type ToolRun, TurnObserver, type TurnRecord } from '../../responses/index.js';
import { toHrTime } from './describe-service.js';
import { childSpanId, type SpanIds, spanIdsOf } from './span-ids.js';

/** The numbers of OpenTelemetry; its package is only loaded when traces are on. */
const KIND = { internal: 0, server: 1, client: 2 };
const STATUS = { unset: 0, error: 2 };

const SCOPE = { name: 'antiphon', version: readVersion() };

/** A span that has ended, with numbers in place of OpenTelemetry's enumerations. */
interface EndedSpan extends Omit<ReadableSpan, 'kind' | 'status'> {
  readonly kind: number;
  readonly status: { readonly code: number; readonly message?: string };
}

/** Takes spans that have ended. */
export interface SpanSink {
  onEnd(span: EndedSpan): void;
}

interface SpanParts {
  readonly name: string;
  readonly kind: number;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly errorCode: string | null;
  readonly attributes: Attributes;
}

/**
 * Makes the spans of a turn when it is over: one for the turn, one for each request to an upstream, one for each call of a tool. Attributes follow the semantic conventions
 * for generative AI; none has content.
 */
export class TurnSpans extends TurnObserver {
  /** `ratio`: the share of traces that begin here and are sampled. */
  constructor(
    private readonly sink: SpanSink,
    private readonly resource: Resource,
    private readonly ratio: number,
  ) {
    super();
  }

  override settled(record: TurnRecord): void {
    const ids = spanIdsOf(record.responseId, record.trace, this.ratio);
    if (!ids.isSampled) return;
    const { startedAt, durationMs, errorCode, attempts, toolRuns } = record;
    const { spanId, parentId } = ids;
    const attributes = attributesOf(record);
    const name = `chat ${record.model}`;
    this.emit(ids, { name, kind: KIND.server, spanId, parentId, startedAt, durationMs, errorCode, attributes });
    for (const [index, attempt] of attempts.entries()) {
      this.emit(ids, {
        name: `chat ${attempt.model}`,
        kind: KIND.client,
        spanId: childSpanId(ids, index),
        parentId: spanId,
        startedAt: attempt.startedAt,
        durationMs: attempt.durationMs,
        errorCode: attempt.errorCode,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': attempt.provider,
          'gen_ai.request.model': attempt.model,
          'antiphon.attempt.kind': attempt.kind,
          ...(attempt.errorCode === null ? {} : { 'error.type': attempt.errorCode }),
        },
      });
    }
    for (const run of toolRuns) this.emitRun(ids, run);
  }

  private emitRun(ids: SpanIds, { callId, name, server, startedAt, durationMs, errorType }: ToolRun): void {
    this.emit(ids, {
      name: `execute_tool ${name}`,
      kind: KIND.internal,
      spanId: childSpanId(ids, callId),
      parentId: ids.spanId,
      startedAt,
      durationMs,
      errorCode: errorType,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': callId,
        // The conventions' word for what the side of the agent runs itself.
        'gen_ai.tool.type': 'extension',
        ...(server === null ? {} : { 'antiphon.tool.server': server }),
        ...(errorType === null ? {} : { 'error.type': errorType }),
      },
    });
  }

  private emit({ traceId }: SpanIds, parts: SpanParts): void {
    const { name, kind, spanId, parentId, startedAt, durationMs, errorCode, attributes } = parts;
    const contextOf = (id: string): SpanContext => ({ traceId, spanId: id, traceFlags: 1 });
    this.sink.onEnd({
      name,
      kind,
      attributes,
      spanContext: () => contextOf(spanId),
      ...(parentId === null ? {} : { parentSpanContext: contextOf(parentId) }),
      startTime: toHrTime(startedAt),
      endTime: toHrTime(startedAt + durationMs),
      duration: toHrTime(durationMs),
      status: errorCode === null ? { code: STATUS.unset } : { code: STATUS.error, message: errorCode },
      ended: true,
      resource: this.resource,
      instrumentationScope: SCOPE,
      links: [],
      events: [],
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    });
  }
}

function attributesOf(record: TurnRecord): Attributes {
  const { responseId, caller, model, provider, door, transport, background, status, usage, errorCode, firstEventMs } =
    record;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': model,
    'gen_ai.response.id': responseId,
    'antiphon.tenant': caller.tenant,
    'antiphon.request.id': caller.requestId,
    'antiphon.door': door,
    'antiphon.transport': transport,
    'antiphon.background': background,
    'antiphon.status': status,
    ...(provider === null ? {} : { 'gen_ai.provider.name': provider }),
    ...(errorCode === null ? {} : { 'error.type': errorCode }),
    ...(firstEventMs === null ? {} : { 'antiphon.first_event_ms': firstEventMs }),
    ...(usage === null
      ? {}
      : { 'gen_ai.usage.input_tokens': usage.input_tokens, 'gen_ai.usage.output_tokens': usage.output_tokens }),
  };
}
