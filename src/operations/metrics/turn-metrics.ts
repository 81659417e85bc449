import { isErrorCode } from '../../protocol/index.js';
import { TurnObserver, type TurnRecord } from '../../responses/index.js';
import { BoundedLabel, OTHER } from './bounded-label.js';
import { LONG, type Metrics } from './metrics.js';

/** The provider of turns that have found none. */
const NOBODY = 'none';

/** Counts and measures turns at their end, and the requests to upstreams that they took. */
export class TurnMetrics extends TurnObserver {
  private readonly models = new BoundedLabel();
  private readonly upstreamModels = new BoundedLabel();
  private readonly tenants = new BoundedLabel();
  private readonly turns;
  private readonly ofTenants;
  private readonly errors;
  private readonly wait;
  private readonly gap;
  private readonly duration;
  private readonly tokens;
  private readonly attempts;
  private readonly attemptDuration;

  /** `namesTenants`: METRICS_TENANTS. */
  constructor(metrics: Metrics, namesTenants: boolean) {
    super();
    const ofModel = ['model', 'provider'] as const;
    this.turns = metrics.counter('antiphon_turns_total', 'Turns that are over, also refused ones.', [
      'door',
      'transport',
      'background',
      ...ofModel,
      'status',
    ] as const);
    this.ofTenants = namesTenants
      ? metrics.counter('antiphon_tenant_turns_total', 'Turns that are over, by tenant.', ['tenant', 'status'] as const)
      : null;
    this.errors = metrics.counter(
      'antiphon_turn_errors_total',
      'Turns that were refused or have failed, by error code.',
      ['code'] as const,
    );
    this.wait = metrics.histogram(
      'antiphon_turn_first_event_seconds',
      'Time from the beginning of a turn to the first event of its model.',
      ofModel,
      LONG,
    );
    this.gap = metrics.histogram(
      'antiphon_turn_longest_gap_seconds',
      'The longest time between two events of the model of a turn.',
      ['provider'] as const,
      LONG,
    );
    this.duration = metrics.histogram(
      'antiphon_turn_duration_seconds',
      'Duration of turns that were not refused.',
      ['transport', 'provider'] as const,
      LONG,
    );
    this.tokens = metrics.counter(
      'antiphon_tokens_total',
      'Tokens. Cached ones are part of input, reasoning of output.',
      ['type', ...ofModel] as const,
    );
    this.attempts = metrics.counter('antiphon_upstream_attempts_total', 'Requests to upstreams that are over.', [
      ...ofModel,
      'kind',
      'code',
    ] as const);
    this.attemptDuration = metrics.histogram(
      'antiphon_upstream_attempt_seconds',
      'Duration of requests to upstreams.',
      ['provider'] as const,
      LONG,
    );
  }

  override settled(record: TurnRecord): void {
    const { door, transport, status, usage, errorCode, firstEventMs, longestGapMs, durationMs } = record;
    const provider = record.provider ?? NOBODY;
    // Anybody may send any name: those that no provider serves are one series.
    const model = record.provider === null ? OTHER : this.models.of(record.model);
    const ofModel = { model, provider };
    this.turns.inc({ door, transport, background: String(record.background), ...ofModel, status });
    this.ofTenants?.inc({ tenant: this.tenants.of(record.caller.tenant), status });
    if (errorCode !== null) this.errors.inc({ code: toKnownCode(errorCode) });
    if (firstEventMs !== null) this.wait.observe(firstEventMs / 1000, model, provider);
    if (longestGapMs !== null) this.gap.observe(longestGapMs / 1000, provider);
    if (status !== 'refused') this.duration.observe(durationMs / 1000, transport, provider);
    if (usage !== null) {
      const { input_tokens_details: input, output_tokens_details: output } = usage;
      this.count('input', usage.input_tokens, ofModel);
      this.count('cached', input.cached_tokens, ofModel);
      this.count('output', usage.output_tokens, ofModel);
      this.count('reasoning', output.reasoning_tokens, ofModel);
    }
    for (const attempt of record.attempts) {
      const asked = { provider: attempt.provider, model: this.upstreamModels.of(attempt.model) };
      const code = attempt.errorCode === null ? '' : toKnownCode(attempt.errorCode);
      this.attempts.inc({ ...asked, kind: attempt.kind, code });
      this.attemptDuration.observe(attempt.durationMs / 1000, attempt.provider);
    }
  }

  private count(type: string, tokens: number, ofModel: { readonly model: string; readonly provider: string }): void {
    if (tokens > 0) this.tokens.inc({ type, ...ofModel }, tokens);
  }
}

/** Codes of model servers may be any text. */
function toKnownCode(code: string): string {
  return isErrorCode(code) ? code : OTHER;
}
