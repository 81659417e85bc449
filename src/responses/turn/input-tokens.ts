import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import { TurnFailures } from './failures.js';
import { TurnResolver } from './resolve.js';
import { RunningTurns } from './running-turns.js';
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
    private readonly runningTurns: RunningTurns,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * The tokens that the model would read, with the context of the turn; its upstream is asked if it can count. A count holds no lock
   * and needs no Admission. Like a turn it ends after MAX_TURN_MS, is waited for and stopped at shutdown, and counts towards a bound of
   * MAX_RUNNING_TURNS, which is that of counts alone. Undefined when the client has disconnected. Throws the refusals that a turn would
   * get before it asks its model, the errors of the upstream, and 503 beyond the bound and during shutdown.
   */
  async count(turn: ActiveTurn): Promise<number | undefined> {
    const { MAX_RUNNING_TURNS: most, MAX_TURN_MS: limitMs } = this.environment;
    if (this.running >= most) throw tooMany();
    this.runningTurns.begin(turn);
    this.running += 1;
    if (limitMs > 0) turn.timeLimit = this.clock.schedule(limitMs, () => turn.stop('time_limit'));
    try {
      turn.throwIfStopped();
      const { route, question } = await turn.until(this.resolver.resolveToCount(turn));
      return await this.meter.countInput(route.provider, question, { signal: turn.signal, exact: true });
    } catch (error) {
      if (endsUnanswered(error, false)) return undefined;
      throw this.failures.toRefusal(error, turn.admitted);
    } finally {
      turn.timeLimit?.cancel();
      this.running -= 1;
      this.runningTurns.end(turn);
      turn.finish();
    }
  }
}

function tooMany(): ApiError {
  return ApiError.of('server_is_overloaded', 'The server has reached its limit of token counts. Please retry.', {
    headers: { 'retry-after': '1' },
  });
}
