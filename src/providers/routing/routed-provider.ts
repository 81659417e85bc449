import type { Item } from '../../protocol/index.js';
import { askProvider } from '../ask-provider.js';
import type { ModelInfo, ModelProviderBase } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { CountOptions } from '../tokens/index.js';
import type { ToleratedRule } from '../tolerated-rules.js';
import type { Turn } from '../turn.js';
import { orderTargets } from './order-targets.js';
import { answerByTargets } from './answer-by-targets.js';
import { RoutedTurn } from './routed-turn.js';
import type { RoutingDependencies } from './routing-dependencies.js';
import type { Destination, Target } from './target.js';

/** Distributes turns over targets by weight, and fails over to the next target before the first token. */
export class RoutedProvider extends PushingProvider {
  override readonly tolerates: ReadonlySet<ToleratedRule>;
  override readonly hostedTools: ModelProviderBase['hostedTools'];
  override readonly isSteerable: boolean;

  constructor(
    private readonly targets: readonly [Target, ...Target[]],
    private readonly dependencies: RoutingDependencies,
    private readonly mostOutputTokens?: number,
  ) {
    super();
    // Any target may answer, so all of them must tolerate a rule.
    this.tolerates = targets.map((target) => target.tolerates).reduce((common, rules) => common.intersection(rules));
    this.hostedTools = hostedToolsOf(targets);
    this.isSteerable = targets.every(({ provider }) => provider.isSteerable);
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
    const targets = orderTargets(this.targets, turn, this.dependencies.health, this.dependencies.random);
    const ask = (target: Target, opening: ModelSink, hasOthers: boolean): Promise<void> =>
      askProvider(target.provider, this.turnFor(target, turn, hasOthers), opening);
    return answerByTargets({ ...this.dependencies, targets, ask, model: turn.settings.model }, sink);
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

  private turnFor(target: Target, turn: Turn, hasOthers = false): Turn {
    return new RoutedTurn(turn, target.toModel(turn.settings.model), this.mostOutputTokens, hasOthers);
  }
}

/** What any target runs: a turn that needs it fails over to that target. */
function hostedToolsOf(targets: readonly Target[]): ModelProviderBase['hostedTools'] {
  const types = new Set<string>();
  for (const { provider } of targets) {
    if (provider.hostedTools === 'all') return 'all';
    for (const type of provider.hostedTools) types.add(type);
  }
  return [...types];
}
