import { Injectable } from '@nestjs/common';

import type { Caller } from '../index.js';
import { Environment } from '../../config/index.js';
import { ApiError, type Usage } from '../../protocol/index.js';
import {
  type AdmittedEmbedding,
  type AdmittedTurn,
  Admission,
  type Lease,
  type QueuedTurn,
  type TurnEstimate,
} from '../../responses/index.js';
import type { Counted, Take } from '../../state/index.js';
import { andThen, Clock, isPromise, type MaybePromise } from '../../time/index.js';
import { Counters, NOTHING } from './counters.js';
import { counterKey, type LimitRule } from './limit-rule.js';
import { LimitRules } from './limit-rules.js';
import { limitHeaders, refusal, requestTooLarge } from './rate-limit-answer.js';

/** What was counted for a turn; stored with it while it is queued. */
interface Receipt {
  readonly key: string;
  readonly tokenLimit: number;
  /** The tokens that the turn has reserved, and those of its input among them. */
  readonly tokens: number;
  readonly inputTokens: number;
  /** The end of the window in which they were counted, milliseconds since the epoch. */
  readonly windowEndsAt: number;
}

/** A turn that a rule counts. */
interface RuledTurn {
  readonly rule: LimitRule;
  readonly key: string;
  readonly model: string;
}

/**
 * Lets up to MAX_RUNNING_TURNS turns run at once, and of those that a rule applies to as many as it has room for: at once, and requests and
 * tokens a minute. A turn reserves its input and the output that it may write: `max_output_tokens` or LIMIT_OUTPUT_RESERVE. Background
 * turns are counted when they are created; those that run at once, when they run.
 */
@Injectable()
export class LimitedAdmission extends Admission {
  private running = 0;

  constructor(
    private readonly environment: Environment,
    private readonly rules: LimitRules,
    private readonly counters: Counters,
    private readonly clock: Clock,
  ) {
    super();
  }

  override acquire(turn: AdmittedTurn, estimate: TurnEstimate): MaybePromise<Lease> {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) throw tooManyRunning();
    this.running += 1;
    try {
      const lease = this.count(turn, estimate);
      if (!isPromise(lease)) return this.leaving(lease);
      return lease.then(
        (counted) => this.leaving(counted),
        (error: unknown) => {
          this.running -= 1;
          throw error;
        },
      );
    } catch (error) {
      this.running -= 1;
      throw error;
    }
  }

  override queue(turn: AdmittedTurn, estimate: TurnEstimate): MaybePromise<QueuedTurn> {
    const ruled = this.ruled(turn.caller, turn.settings.model);
    if (ruled === undefined || !countsWindows(ruled.rule)) return {};
    const tokens = this.tokensOf(ruled, estimate);
    return andThen(this.take(ruled, { requests: 1, tokens }), (counted) => {
      const headers = limitHeaders(ruled.rule, counted);
      if (!limitsTokens(ruled.rule)) return { headers };
      return { headers, receipt: { ...this.toReceipt(ruled, tokens, estimate.inputTokens, counted) } };
    });
  }

  override dequeue({ receipt }: AdmittedTurn, usage: Usage | null): void {
    if (receipt !== undefined) this.settle(toReceipt(receipt), usage?.total_tokens ?? 0);
  }

  override embed({ caller, model, inputTokens }: AdmittedEmbedding): MaybePromise<Readonly<Record<string, string>>> {
    const ruled = this.ruled(caller, model);
    if (ruled === undefined || !countsWindows(ruled.rule)) return {};
    const { rule } = ruled;
    const { tokens_per_minute: limit = 0 } = rule;
    if (limit > 0 && inputTokens > limit) throw requestTooLarge(rule, model, inputTokens, null);
    const tokens = limit > 0 ? inputTokens : 0;
    return andThen(this.take(ruled, { requests: 1, tokens }), (counted) => limitHeaders(rule, counted));
  }

  /** The lease without the place in the process. Throws ApiError 429. */
  private count(turn: AdmittedTurn, estimate: TurnEstimate): MaybePromise<Lease> {
    const ruled = this.ruled(turn.caller, turn.settings.model);
    if (ruled === undefined) return { release: () => undefined };
    const { concurrent_turns: most = 0 } = ruled.rule;
    const places = most > 0 ? 1 : 0;
    if (turn.settings.background === true) {
      return andThen(this.take(ruled, { places }), () => this.inBackground(turn, ruled, places));
    }
    const isCounted = countsWindows(ruled.rule);
    if (!isCounted && places === 0) return { release: () => undefined };
    const tokens = this.tokensOf(ruled, estimate);
    const counted = this.take(ruled, { requests: isCounted ? 1 : 0, tokens, places });
    return andThen(counted, (done) => this.toLease(ruled, estimate, places, tokens, done));
  }

  private toLease(ruled: RuledTurn, estimate: TurnEstimate, places: number, tokens: number, counted: Counted): Lease {
    const { rule, key } = ruled;
    const headers = countsWindows(rule) ? { headers: limitHeaders(rule, counted) } : {};
    const leave = (): void => this.counters.settle(key, { places: -places });
    if (!limitsTokens(rule)) return { ...headers, release: leave };
    const { inputTokens } = estimate;
    let receipt = this.toReceipt(ruled, tokens, inputTokens, counted);
    return {
      ...headers,
      reserve: (more) => {
        const wanted = this.tokensOf(ruled, estimate, more);
        const grown = { ...receipt, tokens: wanted, inputTokens: inputTokens + more };
        if (wanted === receipt.tokens) {
          receipt = grown;
          return undefined;
        }
        return andThen(this.take(ruled, { tokens: wanted - receipt.tokens }), (now) => {
          receipt = grown;
          return limitHeaders(rule, now);
        });
      },
      release: (usage, status) => {
        leave();
        // A client that leaves before its model is asked has had its input read.
        const unasked = status === 'refused' ? 0 : receipt.inputTokens;
        this.settle(receipt, usage?.total_tokens ?? unasked);
      },
    };
  }

  /** Who ends a background response settles it: its run, or `dequeue`. */
  private inBackground({ receipt }: AdmittedTurn, { key }: RuledTurn, places: number): Lease {
    return {
      release: (usage, status) => {
        this.counters.settle(key, { places: -places });
        const hasEnded = status !== 'refused' && status !== 'disconnected';
        if (receipt === undefined || !hasEnded) return;
        const reserved = toReceipt(receipt);
        this.settle(reserved, usage?.total_tokens ?? reserved.inputTokens);
      },
    };
  }

  private leaving(lease: Lease): Lease {
    return {
      ...lease,
      release: (usage, status) => {
        this.running -= 1;
        return lease.release(usage, status);
      },
    };
  }

  private ruled(caller: Caller, model: string): RuledTurn | undefined {
    const rule = this.rules.find(caller.tenant, model);
    return rule === undefined ? undefined : { rule, key: counterKey(rule, caller.tenant), model };
  }

  /**
   * The tokens to reserve: the input, with what the estimate did not know, and the most output, which the request bounds. A reserve that it
   * does not name never makes it too large. Throws ApiError 429.
   */
  private tokensOf({ rule, model }: RuledTurn, estimate: TurnEstimate, more = 0): number {
    const { tokens_per_minute: limit = 0 } = rule;
    // The estimate costs a look at the whole input.
    if (limit === 0) return 0;
    const { maxOutputTokens } = estimate;
    const inputTokens = estimate.inputTokens + more;
    const tokens = inputTokens + (maxOutputTokens ?? 0);
    if (tokens > limit) throw requestTooLarge(rule, model, inputTokens, maxOutputTokens);
    if (maxOutputTokens !== null) return tokens;
    return Math.min(limit, tokens + this.environment.LIMIT_OUTPUT_RESERVE);
  }

  /** Throws ApiError 429, as a rejection if the state is shared, when there is no room for the turn. */
  private take({ rule, key, model }: RuledTurn, asked: Partial<Take>): MaybePromise<Counted> {
    const take: Take = {
      ...NOTHING,
      ...asked,
      key,
      requestLimit: rule.requests_per_minute ?? 0,
      tokenLimit: rule.tokens_per_minute ?? 0,
      placeLimit: rule.concurrent_turns ?? 0,
    };
    return andThen(this.counters.take(take), (counted) => {
      if (!counted.admitted) throw refusal(rule, model, take, counted);
      return counted;
    });
  }

  private toReceipt({ rule, key }: RuledTurn, tokens: number, inputTokens: number, { resetMs }: Counted): Receipt {
    const { tokens_per_minute: tokenLimit = 0 } = rule;
    return { key, tokenLimit, tokens, inputTokens, windowEndsAt: this.clock.now() + resetMs };
  }

  /** Replaces what was reserved by what was used. What was counted in a window that is over is not given back. */
  private settle({ key, tokens, tokenLimit, windowEndsAt }: Receipt, used: number): void {
    const change = used - tokens;
    if (change > 0 || this.clock.now() < windowEndsAt) this.counters.settle(key, { tokens: change, tokenLimit });
  }
}

function countsWindows({ requests_per_minute: requests = 0, tokens_per_minute: tokens = 0 }: LimitRule): boolean {
  return requests > 0 || tokens > 0;
}

function limitsTokens({ tokens_per_minute: tokens = 0 }: LimitRule): boolean {
  return tokens > 0;
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
