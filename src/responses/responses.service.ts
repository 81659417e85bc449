import { Injectable } from '@nestjs/common';

import type { Caller } from '../access/index.js';
import type { Continuations } from '../context/index.js';
import { ApiError, type CreateResponseRequest, type ResponseObject, toUsage } from '../protocol/index.js';
import { Clock } from '../time/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import type { FinalResponse } from './assembler/index.js';
import type { Deliver } from './deliver.js';
import type { LiveTurn } from './live-turn.js';
import { isDisconnect } from './stop-reason.js';
import { type AdmitOptions, TurnFactory } from './turn-factory.js';
import { TurnFailures } from './turn-failures.js';
import { TurnKeeper } from './turn-keeper.js';
import { TurnLifecycle } from './turn-lifecycle.js';
import { TurnPreparation } from './turn-preparation.js';
import { type FinishedRun, type Run, TurnRunner } from './turn-runner.js';

/** What a transport gives along with a turn. */
export interface TurnControl {
  /**
   * Aborts when the client is gone: the model is stopped at once and nothing is stored. With a TurnStoppedError as its
   * reason the turn ends as that says.
   */
  readonly signal: AbortSignal;
  /** Takes headers for the client; they come before the first batch or not at all. */
  readonly onHeaders?: (headers: Readonly<Record<string, string>>) => void;
  /** What the transport remembers of its own turns; asked before the store, told before the terminal event. */
  readonly continuations?: Continuations;
}

/**
 * The one road of a turn, for every transport: admit, then execute (resolve the context, run the model, assemble, save,
 * and only then the terminal event).
 */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly factory: TurnFactory,
    private readonly preparation: TurnPreparation,
    private readonly lifecycle: TurnLifecycle,
    private readonly runner: TurnRunner,
    private readonly keeper: TurnKeeper,
    private readonly failures: TurnFailures,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a turn of a validated request. The turn is plain data: it may be executed later, or elsewhere. Throws ApiError 400
   * for headers that cannot be used.
   */
  admit(request: CreateResponseRequest, caller: Caller, options: AdmitOptions = {}): AdmittedTurn {
    return this.factory.admit(request, caller, options);
  }

  /**
   * Runs a turn and delivers its events in batches, in the order of protocol §4; the last batch holds the one terminal event.
   * Gives the Response of that event. Throws ApiError for what is refused before the first batch, and nothing after it.
   * Without a terminal event, and with undefined, it ends only when the client is gone, or is to be cut off
   * (ConnectionCutError): the transport then ends its connection.
   */
  execute(turn: AdmittedTurn, control: TurnControl, deliver: Deliver): Promise<ResponseObject | undefined> {
    return this.travel(turn, control, deliver, false);
  }

  /**
   * Runs a turn for a transport that wants only the Response; undefined when the client is gone or to be cut off. Throws
   * ApiError for what is refused before the turn began, and 503 when the finished response cannot be saved.
   */
  complete(turn: AdmittedTurn, control: TurnControl): Promise<ResponseObject | undefined> {
    return this.travel(turn, control, () => undefined, true);
  }

  private async travel(
    admitted: AdmittedTurn,
    control: TurnControl,
    deliver: Deliver,
    silent: boolean,
  ): Promise<ResponseObject | undefined> {
    const live = this.lifecycle.open(admitted, control.signal);
    try {
      await live.enter();
      const route = this.preparation.route(admitted);
      live.chose(route.providerName);
      await live.until(this.keeper.expect(admitted));
      const preparing = this.preparation.prepare(admitted, route, control.continuations);
      const prepared = await live.until(preparing);
      const assembler = this.runner.assemble(admitted, silent);
      const run: Run = {
        admitted,
        prepared,
        assembler,
        live,
        silent,
        deliver,
        onHeaders: (headers) => control.onHeaders?.(headers),
      };
      const finished = await this.meter(run, live);
      const response = await this.conclude(run, finished, control);
      // Before the terminal event leaves: who answers it at once must find the place and the session free.
      await live.leaveSession();
      live.settle();
      await deliver(assembler.take());
      return response;
    } catch (error) {
      if (isDisconnect(error)) return undefined;
      const refusal = this.failures.toRefusal(error, admitted);
      live.refused(refusal.code);
      await live.leaveSession();
      throw refusal;
    } finally {
      live.settle();
    }
  }

  /** Runs the model; what it reported counts however the run ends. */
  private async meter(run: Run, live: LiveTurn): Promise<FinishedRun> {
    try {
      return await this.runner.run(run);
    } finally {
      const { tokens } = run.assembler;
      if (tokens !== null) live.used(toUsage(tokens));
    }
  }

  /** Saves, then writes the terminal event: whoever reads it can continue from it on any replica. */
  private async conclude(run: Run, finished: FinishedRun, control: TurnControl): Promise<FinalResponse> {
    const { assembler, admitted, live, silent } = run;
    if (isDisconnect(live.signal.reason)) live.signal.throwIfAborted();
    let response = assembler.conclude(finished.outcome, this.clock.nowInSeconds());
    try {
      await this.keeper.keep(run, finished, response, control.continuations);
    } catch (error) {
      const reason = this.failures.toSaveError(error, admitted);
      response = assembler.conclude(this.runner.fail(assembler, reason), this.clock.nowInSeconds());
      live.ended(response);
      if (silent) throw ApiError.retryLater(reason.message);
    }
    live.ended(response);
    assembler.terminate(response);
    return response;
  }
}
