import { Injectable } from '@nestjs/common';

import type { Caller } from '../access/index.js';
import type { CreateResponseRequest } from '../protocol/index.js';
import { isPromise } from '../time/index.js';
import type { ActiveTurn } from './turn/active-turn.js';
import { type AdmitOptions, type AdmittedTurn, TurnAdmitter } from './turn/admit.js';
import { Entrance } from './turn/entrance.js';
import type { EventSink } from './turn/event-sink.js';
import { TurnFailures } from './turn/failures.js';
import { InputTokens } from './turn/input-tokens.js';
import { Passes } from './turn/passes.js';
import { TurnResolver } from './turn/resolve.js';
import { type EndedTurn, TurnSaver } from './turn/save.js';
import { endsUnanswered, isUnanswered } from './turn/stop-reason.js';

/** Admits and executes turns, for every transport. Each step stands in a file of `turn/`. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly admitter: TurnAdmitter,
    private readonly entrance: Entrance,
    private readonly resolver: TurnResolver,
    private readonly passes: Passes,
    private readonly saver: TurnSaver,
    private readonly failures: TurnFailures,
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
   * Runs a turn to its end and passes its events to a sink; without a sink no events are made. Throws ApiError for a refusal before the
   * response exists and, without a sink, 503 when the response cannot be saved. Undefined, without a terminal event, when the client has
   * disconnected or its connection was broken (TurnClient), and when another process ends a background turn or goes on with it.
   * Synchronous results are not awaited, because every promise has a cost.
   */
  async execute(turn: ActiveTurn, sink: EventSink | null): Promise<EndedTurn | undefined> {
    try {
      const entering = this.entrance.enter(turn);
      if (entering !== undefined) await entering;
      turn.throwIfStopped();
      turn.run?.entered();

      const resolving = this.resolver.resolve(turn);
      const resolved = isPromise(resolving) ? await turn.until(resolving) : resolving;
      const reserving = this.entrance.reserve(turn, resolved);
      if (reserving !== undefined) await reserving;

      const answer = await this.passes.run(turn, resolved, sink);
      // For any other stop reason the response has failed and is delivered.
      if (isUnanswered(turn.stopReason)) turn.throwIfStopped();

      // Saved before the terminal event is sent, so that a client that has it can continue the response on any replica.
      const ending = this.saver.end(turn, resolved, answer);
      const ended = isPromise(ending) ? await ending : ending;

      // Released first too, so that the client's next turn finds the lease and the lock free.
      const releasing = turn.releaseLock();
      if (releasing !== undefined) await releasing;
      this.entrance.leave(turn);
      const catchingUp = answer.delivery.deliver();
      if (catchingUp !== undefined) await catchingUp;
      return ended;
    } catch (error) {
      if (endsUnanswered(error, turn.run !== null)) {
        // The first reason counts: a client that has left has no connection to break.
        turn.stop('cut');
        this.entrance.leave(turn);
        if (turn.stopReason === 'cut') await turn.client.breakConnection?.();
        return undefined;
      }
      const refusal = this.failures.toRefusal(error, turn.admitted);
      turn.refused(refusal.code);
      this.entrance.refuse(turn, refusal);
      await turn.releaseLock();
      throw refusal;
    } finally {
      this.entrance.leave(turn);
    }
  }

  /**
   * The input tokens of a turn, which is not run. Undefined when the client has disconnected. Throws ApiError for a refusal, also of the
   * upstream that counts, and 503 when too many counts are under way.
   */
  countInput(turn: ActiveTurn): Promise<number | undefined> {
    return this.inputTokens.count(turn);
  }
}
