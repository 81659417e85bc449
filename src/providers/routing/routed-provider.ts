import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { askProvider } from '../ask-provider.js';
import type { ModelInfo } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { CountOptions } from '../tokens/index.js';
import type { ToleratedRule } from '../tolerated-rules.js';
import type { Turn } from '../turn.js';
import { orderTargets } from './order-targets.js';
import type { Random } from './random.js';
import { answerByTargets } from './answer-by-targets.js';
import { RoutedTurn } from './routed-turn.js';
import type { Destination, Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/** Dependencies of RoutedProvider. */
export interface RoutingDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly health: TargetHealth;
}

/** Distributes turns over targets by weight, and fails over to the next target before the first token. */
export class RoutedProvider extends PushingProvider {
  override readonly tolerates: ReadonlySet<ToleratedRule>;

  constructor(
    private readonly targets: readonly [Target, ...Target[]],
    private readonly dependencies: RoutingDependencies,
    private readonly mostOutputTokens?: number,
  ) {
    super();
    // Any target may answer, so all of them must tolerate a rule.
    this.tolerates = targets.map((target) => target.tolerates).reduce((common, rules) => common.intersection(rules));
  }

  /** Wraps one provider, for its own model names. */
  static before(name: string, destination: Destination, dependencies: RoutingDependencies): RoutedProvider {
    const target = { ...destination, providerName: name, toModel: (model: string) => model, weight: 1 };
    return new RoutedProvider([target], dependencies);
  }

  /** The first target, which also counts tokens. */
  get first(): Target {
    return this.targets[0];
  }

  /** Always empty: RouteTable and ProviderTable list the models. */
  override async models(): Promise<readonly ModelInfo[]> {
    return [];
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    const { clock, random, health } = this.dependencies;
    const targets = orderTargets(this.targets, turn, health, random);
    const ask = (target: Target, opening: ModelSink): Promise<void> =>
      askProvider(target.provider, this.turnFor(target, turn), opening);
    return answerByTargets({ targets, ask, model: turn.settings.model, health, clock, random }, sink);
  }

  override countTokens(turn: Turn, options?: CountOptions): Promise<number> {
    return this.first.provider.countTokens(this.turnFor(this.first, turn), options);
  }

  override countContextTokens(items: readonly Item[], options?: CountOptions): Promise<number> {
    return this.first.provider.countContextTokens(items, options);
  }

  override countOutputTokens(output: readonly Item[], options?: CountOptions): Promise<number> {
    return this.first.provider.countOutputTokens(output, options);
  }

  private turnFor(target: Target, turn: Turn): Turn {
    return new RoutedTurn(turn, target.toModel(turn.settings.model), this.mostOutputTokens);
  }
}
