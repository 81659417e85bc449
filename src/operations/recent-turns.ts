import { isDeepStrictEqual } from 'node:util';

import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import type { Usage } from '../protocol/index.js';
import { type Price, ProviderRegistry, type UpstreamAttempt } from '../providers/index.js';
import {
  type BegunTurn,
  RunningTurns,
  type ToolRun,
  TurnObserver,
  type TurnRecord,
  UpstreamTraces,
} from '../responses/index.js';
import { Clock } from '../time/index.js';

/** Turns that a process remembers. */
const MOST_TURNS = 2000;
/** Requests to upstreams, and calls of tools, that are told of one turn: the latest. */
const MOST_STEPS = 100;

/** How a turn has run, or runs. It has no content, and no address or credential of an upstream. */
export interface TurnBody extends Pick<BegunTurn, 'model' | 'door' | 'transport' | 'background'> {
  readonly object: 'turn';
  readonly response_id: string;
  readonly status: TurnRecord['status'] | 'in_progress';
  readonly error_code: string | null;
  readonly provider: string | null;
  /** As log lines of the service have it. */
  readonly request_id: string;
  /** The trace of the client, or the one that begins here, if spans are exported. */
  readonly trace_id: string | null;
  /** Unix seconds; null while it waits to be admitted. */
  readonly started_at: number | null;
  readonly first_event_ms: number | null;
  readonly duration_ms: number;
  readonly attempts: readonly AttemptBody[];
  readonly tool_calls: readonly ToolCallBody[];
  readonly usage: Usage | null;
  /** By the prices of PROVIDERS_FILE; null where they are not known of all that have answered. */
  readonly cost: number | null;
}

/** One request to an upstream. */
interface AttemptBody {
  /** From 1. */
  readonly number: number;
  readonly provider: string;
  /** The name of the model there. */
  readonly model: string;
  readonly kind: UpstreamAttempt['kind'];
  /** From the beginning of the turn to that of the request. */
  readonly started_ms: number;
  readonly duration_ms: number;
  readonly first_output_ms: number | null;
  readonly error_code: string | null;
}

/** A call of a tool that the service has run. */
interface ToolCallBody {
  readonly id: string;
  readonly name: string;
  readonly server: string | null;
  readonly started_ms: number;
  readonly duration_ms: number;
  readonly error_type: string | null;
}

/** What is kept of a turn that is over: without its response, which may be large. */
type KeptTurn = Pick<
  TurnRecord,
  | Exclude<keyof BegunTurn, 'caller'>
  | 'status'
  | 'errorCode'
  | 'provider'
  | 'usage'
  | 'firstEventMs'
  | 'durationMs'
  | 'attempts'
  | 'toolRuns'
> & {
  readonly tenant: Tenant;
  readonly requestId: string;
  readonly cost: number | null;
  /** How many attempts came before those that are kept. */
  readonly earlierAttempts: number;
};

/** How the latest turns of this process have run: in memory, for people who look into one of them. */
@Injectable()
export class RecentTurns extends TurnObserver {
  /** In a circle: `next` is the place of the oldest. No table, since every turn passes through it (docs/decisions/2026-11-23-memory-of-turns.md). */
  private readonly turns: KeptTurn[] = [];
  private next = 0;

  constructor(
    private readonly running: RunningTurns,
    private readonly providers: ProviderRegistry,
    private readonly traces: UpstreamTraces,
    private readonly clock: Clock,
  ) {
    super();
  }

  override settled(record: TurnRecord): void {
    const { responseId, model, door, transport, background, startedAt, trace, status, errorCode, provider } = record;
    const { usage, firstEventMs, durationMs } = record;
    const attempts = latest(record.attempts);
    this.turns[this.next] = {
      ...{ responseId, model, door, transport, background, startedAt, trace, status, errorCode, provider },
      ...{ usage, firstEventMs, durationMs, attempts, toolRuns: latest(record.toolRuns) },
      earlierAttempts: record.attempts.length - attempts.length,
      tenant: record.caller.tenant,
      requestId: record.caller.requestId,
      cost: this.costOf(usage, record.attempts),
    };
    this.next = (this.next + 1) % MOST_TURNS;
  }

  /** How the turn of a tenant's response runs, or has run last in this process; undefined if it is not remembered. */
  find(tenant: Tenant, responseId: string): TurnBody | undefined {
    const running = this.running.find(tenant, responseId);
    if (running !== undefined) {
      const { begun, ending, attempts, toolRuns } = running;
      const { startedAt, caller } = begun;
      const firstEventMs = running.firstEventAt === 0 ? null : running.firstEventAt - startedAt;
      const durationMs = startedAt === 0 ? 0 : this.clock.now() - startedAt;
      const { provider, usage } = ending;
      return this.toBody({
        ...{ ...begun, provider, usage, attempts, toolRuns, firstEventMs, durationMs },
        ...{ status: 'in_progress', errorCode: null, requestId: caller.requestId, cost: null, earlierAttempts: 0 },
      });
    }
    const kept = this.turns.filter((turn) => turn.responseId === responseId && turn.tenant === tenant);
    const last = kept.toSorted((one, other) => one.startedAt - other.startedAt).at(-1);
    return last && this.toBody(last);
  }

  private costOf(usage: TurnRecord['usage'], attempts: readonly UpstreamAttempt[]): number | null {
    const answers = attempts.filter(({ errorCode }) => errorCode === null);
    const [price, ...others] = answers.map(({ provider, model }) => this.providers.priceOf(provider, model));
    // Tokens are those of the whole turn: what each upstream had of them is not known.
    if (usage === null || price === undefined || others.some((other) => !isDeepStrictEqual(other, price))) return null;
    return toCost(usage, price);
  }

  private toBody(turn: Omit<KeptTurn, 'tenant' | 'status'> & { readonly status: TurnBody['status'] }): TurnBody {
    const { responseId, model, door, transport, background, startedAt, trace, provider, usage, cost } = turn;
    return {
      object: 'turn',
      response_id: responseId,
      status: turn.status,
      error_code: turn.errorCode,
      ...{ model, provider, door, transport, background },
      request_id: turn.requestId,
      trace_id: this.traces.idOf({ responseId, trace }),
      started_at: startedAt === 0 ? null : Math.floor(startedAt / 1000),
      first_event_ms: turn.firstEventMs,
      duration_ms: turn.durationMs,
      attempts: turn.attempts
        .map((attempt, index) => toAttempt(attempt, turn.earlierAttempts + index + 1, startedAt))
        .slice(-MOST_STEPS),
      tool_calls: turn.toolRuns.map((run) => toToolCall(run, startedAt)).slice(-MOST_STEPS),
      usage,
      cost,
    };
  }
}

/** The last MOST_STEPS. Most lists are shorter, and are not copied. */
function latest<Step>(steps: readonly Step[]): readonly Step[] {
  return steps.length > MOST_STEPS ? steps.slice(-MOST_STEPS) : steps;
}

/** Prices are per million tokens. Rounded, since sums of decimal fractions are not exact. */
function toCost(
  { input_tokens: input, input_tokens_details: details, output_tokens: output }: Usage,
  price: Price,
): number {
  const cached = Math.min(details.cached_tokens, input);
  const whole = (input - cached) * price.input + cached * (price.cached_input ?? price.input) + output * price.output;
  return Number((whole / 1e6).toPrecision(12));
}

function toAttempt(attempt: UpstreamAttempt, number: number, turnStartedAt: number): AttemptBody {
  const { provider, model, kind, startedAt, durationMs, firstOutputMs, errorCode } = attempt;
  return {
    ...{ number, provider, model, kind },
    started_ms: startedAt - turnStartedAt,
    duration_ms: durationMs,
    first_output_ms: firstOutputMs,
    error_code: errorCode,
  };
}

function toToolCall(
  { callId, name, server, startedAt, durationMs, errorType }: ToolRun,
  turnStartedAt: number,
): ToolCallBody {
  return {
    ...{ id: callId, name, server },
    started_ms: startedAt - turnStartedAt,
    duration_ms: durationMs,
    error_type: errorType,
  };
}
