import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import type { ActiveTurn } from './active-turn.js';
import { TurnFailures } from './failures.js';
import { TurnResolver } from './resolve.js';
import { endsUnanswered } from './stop-reason.js';
import { TokenMeter } from './token-meter.js';

/** Counts the input tokens of turns that are not run (protocol §1.1, §8). */
@Injectable()
export class InputTokens {
  private running = 0;

  constructor(
    private readonly resolver: TurnResolver,
    private readonly meter: TokenMeter,
    private readonly failures: TurnFailures,
    private readonly environment: Environment,
  ) {}

  /**
   * The tokens that the model would read, with the context of the turn; its upstream is asked if it can count. A count holds no lock,
   * needs no Admission and is bounded like turns, but apart from them. Undefined when the client has disconnected. Throws the refusals
   * that a turn would get before it asks its model, the errors of the upstream, and 503 beyond MAX_RUNNING_TURNS counts at once.
   */
  async count(turn: ActiveTurn): Promise<number | undefined> {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) throw tooMany();
    this.running += 1;
    try {
      turn.throwIfStopped();
      const { route, question } = await turn.until(this.resolver.resolveToCount(turn));
      return await this.meter.countInput(route.provider, question, { signal: turn.signal, exact: true });
    } catch (error) {
      if (endsUnanswered(error, false)) return undefined;
      throw this.failures.toRefusal(error, turn.admitted);
    } finally {
      this.running -= 1;
      turn.finish();
    }
  }
}

function tooMany(): ApiError {
  return ApiError.of('server_is_overloaded', 'The server has reached its limit of token counts. Please retry.', {
    headers: { 'retry-after': '1' },
  });
}
