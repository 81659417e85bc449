import type { Item } from '../../protocol/index.js';
import { askProvider } from '../ask-provider.js';
import { ModelError } from '../model-error.js';
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
import { viewOf } from './view-of-target.js';

/** How a target is asked: whom the turn was meant for, and whether others follow. */
interface Asking {
  readonly chosen?: Target | undefined;
  readonly hasOthers?: boolean;
}

/** Distributes turns over targets by weight, and fails over to the next target before the first token. */
export class RoutedProvider extends PushingProvider {
  override readonly tolerates: ReadonlySet<ToleratedRule>;
  override readonly hostedTools: ModelProviderBase['hostedTools'];
  override readonly compactsContexts: boolean;
  override readonly hasTokenizer: boolean;
  override readonly readsForeignSeals: boolean;
  override readonly takesOpaqueData: boolean;
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
    this.hasTokenizer = targets.some(({ provider }) => provider.hasTokenizer);
    this.compactsContexts = targets.every(({ provider }) => provider.compactsContexts);
    this.readsForeignSeals = targets.some(({ provider }) => provider.readsForeignSeals);
    this.takesOpaqueData = targets.some(({ provider }) => provider.takesOpaqueData);
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
      askProvider(target.provider, this.turnFor(target, turn, { chosen: targets[0], hasOthers }), opening);
    return answerByTargets({ ...this.dependencies, targets, ask, model: turn.settings.model }, sink);
  }

  override countTokens(turn: Turn, options?: CountOptions): Promise<number> {
    if (options?.exact === true) return this.countExactly(turn, options);
    return this.first.provider.countTokens(this.turnFor(this.first, turn), options);
  }

  override countContextTokens(items: readonly Item[], options?: CountOptions): Promise<number> {
    return this.first.provider.countContextTokens(items, options);
  }

  override countOutputTokens(output: readonly Item[], options?: CountOptions): Promise<number> {
    return this.first.provider.countOutputTokens(output, options);
  }

  /** Asks the target that would answer or, where that fails, the next one. */
  private async countExactly(turn: Turn, options: CountOptions): Promise<number> {
    let failure: unknown;
    const targets = orderTargets(this.targets, turn, this.dependencies.health, this.dependencies.random);
    for (const target of targets) {
      try {
        return await target.provider.countTokens(this.turnFor(target, turn, { chosen: targets[0] }), options);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!(error instanceof ModelError) || error.retry === 'nowhere') throw error;
        failure ??= error;
      }
    }
    throw failure;
  }

  private turnFor(target: Target, turn: Turn, { chosen = target, hasOthers = false }: Asking = {}): Turn {
    const model = target.toModel(turn.settings.model);
    const { mostOutputTokens, readsForeignSeals } = this;
    const view = viewOf(target, turn, { chosen, leavesForgetting: readsForeignSeals });
    const isCompacted = !this.compactsContexts && target.provider.compactsContexts;
    return new RoutedTurn(turn, { model, mostOutputTokens, hasOthers, isCompacted, view });
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
