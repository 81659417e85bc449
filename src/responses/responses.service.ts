import { Injectable } from '@nestjs/common';

import type { Caller } from '../access/index.js';
import type { CreateResponseRequest } from '../protocol/index.js';
import type { ActiveTurn } from './turn/active-turn.js';
import { type AdmitOptions, type AdmittedTurn, TurnAdmitter } from './turn/admit.js';
import type { EndedTurn } from './turn/save.js';
import type { EventSink } from './turn/event-sink.js';
import { InputTokens } from './turn/input-tokens.js';
import { TurnRunner } from './turn/run-turn.js';

/** Admits and executes turns, for every transport; `turn/` implements both. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly admitter: TurnAdmitter,
    private readonly runner: TurnRunner,
    private readonly inputTokens: InputTokens,
  ) {}

  /**
   * Creates a turn from a validated request. The turn is plain data that may be executed later or elsewhere. Throws
   * ApiError 400 for invalid headers, and 403 for a model that its caller may not use.
   */
  admit(request: CreateResponseRequest, caller: Caller, options: AdmitOptions = {}): AdmittedTurn {
    return this.admitter.admit(request, caller, options);
  }

  /**
   * Runs a turn and passes its events to a sink; without a sink no events are made. Undefined when the client has
   * disconnected or its connection was broken (TurnClient). Throws ApiError for
   * a refusal before the response exists and, without a sink, 503 when the response cannot be saved.
   */
  execute(turn: ActiveTurn, sink: EventSink | null): Promise<EndedTurn | undefined> {
    return this.runner.run(turn, sink);
  }

  /**
   * The input tokens of a turn, which is not run. Undefined when the client has disconnected. Throws ApiError for a refusal, also of the
   * upstream that counts, and 503 when too many counts are under way.
   */
  countInput(turn: ActiveTurn): Promise<number | undefined> {
    return this.inputTokens.count(turn);
  }
}
