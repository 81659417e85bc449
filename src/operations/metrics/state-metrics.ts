import { StateCallObserver } from '../../state/index.js';
import { type Metrics, SHORT } from './metrics.js';

/** Measures the calls of the state. */
export class StateMetrics extends StateCallObserver {
  private readonly calls;

  constructor(metrics: Metrics) {
    super();
    this.calls = metrics.histogram(
      'antiphon_state_call_seconds',
      'Duration of the calls of the state.',
      ['operation', 'outcome'] as const,
      SHORT,
    );
  }

  override called(operation: string, outcome: string, durationMs: number): void {
    this.calls.observe(durationMs / 1000, operation, outcome);
  }
}
