import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { SIMULATOR } from './names.js';
import { TurnObserver, type TurnRecord } from '../responses/index.js';

/** Statistics of the turns of one model, or of all. */
interface TurnStatistics {
  readonly requests: number;
  /** Count of turns by final status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Count of errors by code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly tokens: { readonly input: number; readonly output: number; readonly reasoning: number };
  /** Duration of turns, ms. */
  readonly latency_ms: Readonly<Record<'min' | 'mean' | 'p50' | 'p90' | 'p99' | 'max', number>>;
}

/** A tenant's turns at the simulator of this replica since its start. */
export interface SimulatorReport extends TurnStatistics {
  readonly object: 'simulator.stats';
  readonly models: Readonly<Record<string, TurnStatistics>>;
}

/** Models with statistics of their own, bounded because clients choose the names. Others count in the total only. */
const MOST_MODELS = 100;

/** Counts the simulator's turns, for load tests. */
@Injectable()
export class SimulatorStatistics extends TurnObserver {
  private readonly tenants = new Map<
    Tenant,
    { readonly total: TurnCounts; readonly models: Map<string, TurnCounts> }
  >();

  override settled(record: TurnRecord): void {
    if (record.provider !== SIMULATOR) return;
    const { total, models } = this.of(record.caller.tenant);
    total.add(record);
    if (!models.has(record.model) && models.size < MOST_MODELS) models.set(record.model, new TurnCounts());
    models.get(record.model)?.add(record);
  }

  report(tenant: Tenant): SimulatorReport {
    const { total, models } = this.of(tenant);
    const byModel = Object.fromEntries([...models].map(([model, count]) => [model, count.toStatistics()]));
    return { object: 'simulator.stats', ...total.toStatistics(), models: byModel };
  }

  private of(tenant: Tenant): { readonly total: TurnCounts; readonly models: Map<string, TurnCounts> } {
    let counts = this.tenants.get(tenant);
    if (counts === undefined) {
      counts = { total: new TurnCounts(), models: new Map() };
      this.tenants.set(tenant, counts);
    }
    return counts;
  }
}

/** Turns of one tenant, or of one of its models. */
class TurnCounts {
  private requests = 0;
  private readonly statuses = new Map<string, number>();
  private readonly errors = new Map<string, number>();
  private readonly tokens = { input: 0, output: 0, reasoning: 0 };
  private readonly durations: RecordableHistogram = createHistogram();

  add({ status, errorCode, usage, durationMs }: TurnRecord): void {
    this.requests += 1;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (errorCode !== null) this.errors.set(errorCode, (this.errors.get(errorCode) ?? 0) + 1);
    if (usage !== null) {
      this.tokens.input += usage.input_tokens;
      this.tokens.output += usage.output_tokens;
      this.tokens.reasoning += usage.output_tokens_details.reasoning_tokens;
    }
    // The histogram does not accept 0.
    this.durations.record(Math.max(1, Math.round(durationMs)));
  }

  toStatistics(): TurnStatistics {
    const { durations } = this;
    const isEmpty = this.requests === 0;
    const round = (value: number): number => (isEmpty ? 0 : Math.round(value * 10) / 10);
    return {
      requests: this.requests,
      statuses: Object.fromEntries(this.statuses),
      errors: Object.fromEntries(this.errors),
      tokens: { ...this.tokens },
      latency_ms: {
        min: round(durations.min),
        mean: round(durations.mean),
        p50: round(durations.percentile(50)),
        p90: round(durations.percentile(90)),
        p99: round(durations.percentile(99)),
        max: round(durations.max),
      },
    };
  }
}
