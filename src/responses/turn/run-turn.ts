import { Injectable } from '@nestjs/common';

import { isPromise } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import { Entrance } from './entrance.js';
import type { EventSink } from './event-sink.js';
import { TurnFailures } from './failures.js';
import { Passes } from './passes.js';
import { TurnResolver } from './resolve.js';
import { type EndedTurn, TurnSaver } from './save.js';
import { endsUnanswered, isUnanswered } from './stop-reason.js';

/** Runs a turn, step by step. */
@Injectable()
export class TurnRunner {
  constructor(
    private readonly entrance: Entrance,
    private readonly resolver: TurnResolver,
    private readonly passes: Passes,
    private readonly saver: TurnSaver,
    private readonly failures: TurnFailures,
  ) {}

  /**
   * Runs a turn to its end and returns its Response; a sink receives its events. Throws ApiError for a refusal before
   * the response exists and, without a sink, when it cannot be saved. Returns undefined, without a terminal event, when
   * the client has disconnected or its connection was broken, and when another process ends a background turn or goes on
   * with it. Synchronous results are not awaited, because every promise
   * has a cost.
   */
  async run(turn: ActiveTurn, sink: EventSink | null): Promise<EndedTurn | undefined> {
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
}
