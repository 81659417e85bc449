import type { Clock } from '../../time/index.js';
import type { Random } from './random.js';
import type { TargetHealth } from './target-health.js';

/** Dependencies of RoutedProvider. */
export interface RoutingDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly health: TargetHealth;
  /** The most requests to targets for one turn. */
  readonly attempts: number;
}
