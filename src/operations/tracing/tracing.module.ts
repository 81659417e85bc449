import { Global, Module } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ClientTraces, type TracedTurn, UpstreamTraces } from '../../responses/index.js';
import type { TraceContext } from '../../protocol/index.js';
import { LastWaits } from '../../time/index.js';
import { isTraced, SpanExporter } from './span-exporter.js';
import { spanIdsOf } from './span-ids.js';
import { TurnSpans } from './turn-spans.js';

/** Names the span of the turn as parent of the requests to upstreams. */
class SpanTraces extends UpstreamTraces {
  constructor(private readonly ratio: number) {
    super();
  }

  override of({ responseId, trace }: TracedTurn): TraceContext {
    const { traceId, spanId, isSampled } = spanIdsOf(responseId, trace, this.ratio);
    const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
    return trace?.tracestate === undefined ? { traceparent } : { traceparent, tracestate: trace.tracestate };
  }
}

/** Traces for OpenTelemetry. Without a collector the trace of the client is passed on to upstreams. */
@Global()
@Module({
  providers: [
    {
      provide: SpanExporter,
      inject: [Environment, LastWaits],
      useFactory: (environment: Environment, lastWaits: LastWaits) => SpanExporter.open(environment, lastWaits),
    },
    {
      provide: TurnSpans,
      inject: [SpanExporter, Environment],
      useFactory: (exporter: SpanExporter | null, { OTEL_TRACES_SAMPLER_ARG: ratio }: Environment) =>
        exporter && new TurnSpans(exporter.processor, exporter.resource, ratio),
    },
    {
      provide: UpstreamTraces,
      inject: [Environment],
      useFactory: (environment: Environment) =>
        isTraced(environment) ? new SpanTraces(environment.OTEL_TRACES_SAMPLER_ARG) : new ClientTraces(),
    },
  ],
  exports: [UpstreamTraces],
})
export class TracingModule {}
