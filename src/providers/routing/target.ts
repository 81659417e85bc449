import type { Clock } from '../../time/index.js';
import type { ModelProviderBase, ToleratedRule } from '../model-provider.js';
import type { Random } from './random.js';

/** A provider that model names can be routed to. */
export interface Destination {
  readonly provider: ModelProviderBase;
  /** Retries of a turn, before the first token. */
  readonly retries: number;
  /** Whether the model names that the provider lists are served. */
  readonly isOpen: boolean;
  /** Rules that do not apply to its models. */
  readonly tolerates: ReadonlySet<ToleratedRule>;
  /** Request members beyond those of the API that it passes on. */
  readonly forwards: ReadonlySet<string>;
}

/** A provider that can answer the turns of a model name. */
export interface Target extends Destination {
  readonly providerName: string;
  /** Translates the requested name into the provider's name of the model. */
  readonly toModel: (name: string) => string;
  readonly weight: number;
}

/** Time for which a failed target is tried last, unless it requested longer. */
const REST_MS = 5000;
const LONGEST_REST_MS = 60_000;

/** Tracks targets that failed recently, so that turns try others first. */
export class TargetHealth {
  private readonly restsUntil = new Map<Target, number>();

  constructor(private readonly clock: Clock) {}

  failed(target: Target, retryAfterMs = 0): void {
    const restMs = Math.min(Math.max(REST_MS, retryAfterMs), LONGEST_REST_MS);
    this.restsUntil.set(target, this.clock.now() + restMs);
  }

  answered(target: Target): void {
    this.restsUntil.delete(target);
  }

  isResting(target: Target): boolean {
    return (this.restsUntil.get(target) ?? 0) > this.clock.now();
  }
}

/** Dependencies of RoutedProvider. */
export interface RoutingDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly health: TargetHealth;
  /** The most requests to targets for one turn. */
  readonly attempts: number;
}
