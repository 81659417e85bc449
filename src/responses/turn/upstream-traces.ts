import { Injectable } from '@nestjs/common';

import type { TraceContext } from '../../protocol/index.js';
import type { AdmittedTurn } from './admit.js';

/** What the trace of a turn follows from. */
export type TracedTurn = Pick<AdmittedTurn, 'responseId' | 'trace'>;

/** The trace that a turn belongs to, and that its requests to upstreams name. */
export abstract class UpstreamTraces {
  /** The trace of a turn, the same in every process; undefined without one. */
  abstract of(turn: TracedTurn): TraceContext | undefined;

  /** The id of the trace, under which the log and the record of a turn name it. Null: none. */
  idOf({ responseId, trace }: { readonly responseId: string; readonly trace: TraceContext | null }): string | null {
    return this.of({ responseId, trace: trace ?? undefined })?.traceparent.split('-')[1] ?? null;
  }
}

/** Passes the trace of the client on. */
@Injectable()
export class ClientTraces extends UpstreamTraces {
  override of({ trace }: TracedTurn): TraceContext | undefined {
    return trace;
  }
}
