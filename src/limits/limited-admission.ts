import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { ApiError, type Usage } from '../protocol/index.js';
import { type AdmittedTurn, Admission, type Lease, type QueuedTurn, type TurnEstimate } from '../responses/index.js';
import type { Counted } from '../state/index.js';
import { Clock, isPromise, type MaybePromise } from '../time/index.js';
import { counterKey, type LimitRule } from './limit-rule.js';
import { LimitRules } from './limit-rules.js';
import { OpenCounts } from './open-counts.js';
import { limitHeaders, limitReached, requestTooLarge, tooManyTurns } from './rate-limit-answer.js';
import { Windows } from './windows.js';

/** What was counted for a turn; stored with it while it is queued. */
interface Receipt {
  readonly key: string;
  /** The tokens of the estimate. */
  readonly tokens: number;
  /** The end of the window in which they were counted, milliseconds since the epoch. */
  readonly windowEndsAt: number;
}

interface CountedTurn {
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined when tokens are not counted: there is nothing to settle. */
  readonly receipt: Receipt | undefined;
}

/**
 * Lets up to MAX_RUNNING_TURNS turns run at once, and of those that a rule applies to as many as it has room for: at once, and requests and
 * tokens a minute. Background turns are counted when they are created; those that run at once, when they run.
 */
@Injectable()
export class LimitedAdmission extends Admission {
  private running = 0;
  private readonly leave = (): void => void (this.running -= 1);

  constructor(
    private readonly environment: Environment,
    private readonly rules: LimitRules,
    private readonly windows: Windows,
    private readonly open: OpenCounts,
    private readonly clock: Clock,
  ) {
    super();
  }

  override acquire(turn: AdmittedTurn, estimate: TurnEstimate): MaybePromise<Lease> {
    const rule = this.rules.find(turn.caller.tenant, turn.settings.model);
    const leave = this.takePlaces(turn, rule);
    if (turn.settings.background === true) return this.background(turn, leave);
    if (rule === undefined || !countsWindows(rule)) return { release: leave };
    try {
      const counted = this.count(turn, rule, estimate);
      if (!isPromise(counted)) return this.toLease(counted, leave);
      return counted.then(
        (done) => this.toLease(done, leave),
        (error: unknown) => {
          leave();
          throw error;
        },
      );
    } catch (error) {
      leave();
      throw error;
    }
  }

  override queue(turn: AdmittedTurn, estimate: TurnEstimate): MaybePromise<QueuedTurn> {
    const rule = this.rules.find(turn.caller.tenant, turn.settings.model);
    if (rule === undefined || !countsWindows(rule)) return {};
    const counted = this.count(turn, rule, estimate);
    return isPromise(counted) ? counted.then(toQueued) : toQueued(counted);
  }

  override dequeue({ receipt }: AdmittedTurn, usage: Usage | null): void {
    if (receipt !== undefined) this.settle(toReceipt(receipt), usage?.total_tokens ?? 0);
  }

  /** Takes a place of the process and one of the rule; returns what gives both back. Throws ApiError 503 and 429. */
  private takePlaces({ caller, settings }: AdmittedTurn, rule: LimitRule | undefined): () => void {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) throw tooManyRunning();
    this.running += 1;
    const { concurrent_turns: most = 0 } = rule ?? {};
    if (rule === undefined || most === 0) return this.leave;
    const key = counterKey(rule, caller.tenant);
    if (this.open.of(key) >= most) {
      this.leave();
      throw tooManyTurns(settings.model, most);
    }
    this.open.open(key);
    return () => {
      this.open.close(key);
      this.leave();
    };
  }

  /** Throws ApiError 429 when there is no room for the turn. */
  private count(turn: AdmittedTurn, rule: LimitRule, estimate: TurnEstimate): MaybePromise<CountedTurn> {
    const { requests_per_minute: requestLimit = 0, tokens_per_minute: tokenLimit = 0 } = rule;
    const { model } = turn.settings;
    // The estimate costs a look at the whole input.
    const tokens = tokenLimit === 0 ? 0 : estimate.inputTokens;
    if (tokenLimit > 0 && tokens > tokenLimit) throw requestTooLarge(rule, model, tokens);
    const key = counterKey(rule, turn.caller.tenant);
    const toTurn = (counted: Counted): CountedTurn => {
      if (!counted.admitted) throw limitReached(rule, model, tokens, counted);
      const windowEndsAt = this.clock.now() + counted.resetMs;
      const receipt = tokenLimit === 0 ? undefined : { key, tokens, windowEndsAt };
      return { headers: limitHeaders(rule, counted), receipt };
    };
    const counted = this.windows.count({ key, requestLimit, tokenLimit, tokens });
    return isPromise(counted) ? counted.then(toTurn) : toTurn(counted);
  }

  private toLease({ headers, receipt }: CountedTurn, leave: () => void): Lease {
    return {
      headers,
      release: (usage, status) => {
        leave();
        // A client that leaves early has had its input read.
        if (receipt !== undefined && (usage !== null || status === 'refused')) {
          this.settle(receipt, usage?.total_tokens ?? 0);
        }
      },
    };
  }

  /** Who ends a background response settles it: its run, or `dequeue`. */
  private background({ receipt }: AdmittedTurn, leave: () => void): Lease {
    return {
      release: (usage, status) => {
        leave();
        const hasEnded = status !== 'refused' && status !== 'disconnected';
        if (receipt !== undefined && hasEnded && usage !== null) this.settle(toReceipt(receipt), usage.total_tokens);
      },
    };
  }

  /** Corrects the estimate by what was used. What was counted in a window that is over is not given back. */
  private settle({ key, tokens, windowEndsAt }: Receipt, used: number): void {
    const change = used - tokens;
    if (change > 0 || this.clock.now() < windowEndsAt) this.windows.settle(key, change);
  }
}

function countsWindows({ requests_per_minute: requests = 0, tokens_per_minute: tokens = 0 }: LimitRule): boolean {
  return requests > 0 || tokens > 0;
}

function toQueued({ headers, receipt }: CountedTurn): QueuedTurn {
  return { headers, ...(receipt === undefined ? {} : { receipt: { ...receipt } }) };
}

function tooManyRunning(): ApiError {
  return ApiError.of('server_is_overloaded', 'The server has reached its limit of running turns. Please retry.', {
    headers: { 'retry-after': '1' },
  });
}

/** The receipt that `queue` has given, as it was stored. */
function toReceipt(stored: NonNullable<AdmittedTurn['receipt']>): Receipt {
  return stored as unknown as Receipt;
}
