import { Injectable } from '@nestjs/common';

import type { TraceContext } from '../../protocol/index.js';
import type { AdmittedTurn } from './admit.js';

/** The trace that the requests of a turn to upstreams belong to. */
export abstract class UpstreamTraces {
  /** Called once per pass, in whichever process runs the turn. Undefined: none. */
  abstract of(turn: AdmittedTurn): TraceContext | undefined;
}

/** Passes the trace of the client on. */
@Injectable()
export class ClientTraces extends UpstreamTraces {
  override of({ trace }: AdmittedTurn): TraceContext | undefined {
    return trace;
  }
}
