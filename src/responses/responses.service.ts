import { Injectable } from '@nestjs/common';

import type { Caller } from '../access/index.js';
import type { CreateResponseRequest } from '../protocol/index.js';
import {
  type ActiveTurn,
  type AdmitOptions,
  type AdmittedTurn,
  type EndedTurn,
  type EventSink,
  TurnAdmitter,
  TurnRunner,
} from './turn/index.js';

/** A turn, for every transport: let in first, then run. Both halves stand in `turn/`. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly admitter: TurnAdmitter,
    private readonly runner: TurnRunner,
  ) {}

  /**
   * Makes a turn of a validated request. The turn is plain data: it may be executed later, or elsewhere. Throws ApiError 400
   * for headers that cannot be used.
   */
  admit(request: CreateResponseRequest, caller: Caller, options: AdmitOptions = {}): AdmittedTurn {
    return this.admitter.admit(request, caller, options);
  }

  /**
   * Runs a turn and hands its events to a sink; without one no event is made, and only the Response is given. Undefined where
   * the client is gone, or its connection was broken (TurnClient). Throws ApiError for what is refused
   * before the response exists and, without a sink, 503 where the finished response cannot be saved.
   */
  execute(turn: ActiveTurn, sink: EventSink | null): Promise<EndedTurn | undefined> {
    return this.runner.run(turn, sink);
  }
}
