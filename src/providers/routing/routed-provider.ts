import { hash } from 'node:crypto';

import type { Item } from '../../protocol/index.js';
import { askProvider } from '../ask-provider.js';
import { cannotEmbed, type EmbeddingRequest, type Embeddings } from '../embedding.js';
import { ModelError } from '../model-error.js';
import type { ModelInfo, ModelProviderBase, ToleratedRule } from '../model-provider.js';
import type { ModelSink } from '../model-sink.js';
import { PushingProvider } from '../pushing-provider.js';
import type { CountOptions } from '../tokens/index.js';
import { DerivedTurn, type Turn } from '../turn.js';
import { Attempts, waitOf } from './attempts.js';
import { Opening } from './opening.js';
import type { Random } from './random.js';
import type { Destination, RoutingDependencies, Target, TargetHealth } from './target.js';
import { type ItemView, viewOf } from './view-of-target.js';

/** How a target is asked: whom the turn was meant for, and whether others follow. */
interface Asking {
  readonly chosen?: Target | undefined;
  readonly hasOthers?: boolean;
}

/** Distributes turns over targets by weight, and fails over to the next target before the first token. */
export class RoutedProvider extends PushingProvider {
  override readonly tolerates: ReadonlySet<ToleratedRule>;
  /** Request members beyond those of the API that reach every upstream of the name. */
  readonly forwards: ReadonlySet<string>;
  override readonly hostedTools: ModelProviderBase['hostedTools'];
  override readonly compactsContexts: boolean;
  override readonly hasTokenizer: boolean;
  override readonly readsForeignSeals: boolean;
  override readonly takesOpaqueData: boolean;
  override readonly isSteerable: boolean;
  override readonly takesFiles: boolean;
  override readonly takesFileUrls: boolean;
  override readonly embeddingBatch: number;

  constructor(
    private readonly targets: readonly [Target, ...Target[]],
    private readonly dependencies: RoutingDependencies,
    private readonly mostOutputTokens?: number,
  ) {
    super();
    // Any target may answer, so all of them must tolerate a rule.
    this.tolerates = targets.map((target) => target.tolerates).reduce((common, rules) => common.intersection(rules));
    this.forwards = targets.map((target) => target.forwards).reduce((common, names) => common.intersection(names));
    this.hostedTools = hostedToolsOf(targets);
    this.hasTokenizer = targets.some(({ provider }) => provider.hasTokenizer);
    this.compactsContexts = targets.every(({ provider }) => provider.compactsContexts);
    this.readsForeignSeals = targets.some(({ provider }) => provider.readsForeignSeals);
    this.takesOpaqueData = targets.some(({ provider }) => provider.takesOpaqueData);
    // Any target may answer.
    this.takesFiles = targets.every(({ provider }) => provider.takesFiles);
    this.takesFileUrls = targets.every(({ provider }) => provider.takesFileUrls);
    this.isSteerable = targets.every(({ provider }) => provider.isSteerable);
    this.embeddingBatch = Math.min(...targets.map(({ provider }) => provider.embeddingBatch));
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

  /** Any target may answer. */
  override seesImages(model: string): boolean {
    return this.targets.every(({ provider, toModel }) => provider.seesImages(toModel(model)));
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    const targets = this.order(turn);
    const ask = (target: Target, opening: ModelSink, hasOthers: boolean): Promise<void> =>
      askProvider(target.provider, this.turnFor(target, turn, { chosen: targets[0], hasOthers }), opening);
    return answerByTargets({ ...this.dependencies, targets, ask, model: turn.settings.model }, sink);
  }

  /** Asks the targets that give embeddings, with the retries and failovers of a turn. */
  override async embed(request: EmbeddingRequest, { signal }: { readonly signal: AbortSignal }): Promise<Embeddings> {
    const { health, clock } = this.dependencies;
    const able = this.order().filter(({ provider }) => provider.embed !== undefined);
    if (able.length === 0) throw cannotEmbed(request.model);
    const attempts = new Attempts(able, this.dependencies);
    for (let attempt = attempts.next(); attempt !== undefined; attempt = attempts.next()) {
      const { target, pauseMs } = attempt;
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
      try {
        const asked = { ...request, model: target.toModel(request.model) };
        const embeddings = await target.provider.embed?.(asked, { signal });
        if (embeddings === undefined) throw cannotEmbed(request.model);
        health.answered(target);
        return embeddings;
      } catch (error) {
        signal.throwIfAborted();
        attempts.failed(target, error);
        if (isTargetFailure(error)) health.failed(target, waitOf(error));
      }
    }
    throw attempts.error;
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
    const targets = this.order(turn);
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

  private order(turn?: Turn): readonly Target[] {
    return orderTargets(this.targets, turn, this.dependencies.health, this.dependencies.random);
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

/** Parameters of answerByTargets. */
interface RoutingOptions extends RoutingDependencies {
  /** In order of preference. */
  readonly targets: readonly Target[];
  readonly ask: (target: Target, sink: ModelSink, hasOthers: boolean) => Promise<void>;
  /** The requested model name. */
  readonly model: string;
}

/**
 * Writes the answer of the first target that begins to answer. A failure before its first output leads to the next attempt; later
 * failures are final. Rejects with the most useful error of the attempts.
 */
async function answerByTargets(options: RoutingOptions, sink: ModelSink): Promise<void> {
  const { targets, ask, model, health, clock } = options;
  const attempts = new Attempts(targets, options);
  let before: Target | null = null;
  for (let attempt = attempts.next(); attempt !== undefined; attempt = attempts.next()) {
    const { target, pauseMs } = attempt;
    if (pauseMs > 0) await clock.sleep(pauseMs, sink.signal);
    if (sink.isClosed) return;
    const kind = before === null ? 'first' : before === target ? 'retry' : 'fallback';
    before = target;
    const opening = new Opening(sink, { target, model, kind, health, clock });
    try {
      await ask(target, opening, attempts.hasOthers);
      if (!opening.hasBegun && !isClosed(sink)) throw ModelError.endedEarly();
      opening.over(null);
      return;
    } catch (error) {
      opening.over(isClosed(sink) ? null : error);
      if (opening.hasBegun || isClosed(sink)) throw error;
      opening.giveUp();
      attempts.failed(target, error);
      if (isTargetFailure(error)) health.failed(target, waitOf(error));
    }
  }
  throw attempts.error;
}

/** Whether an error counts against the health of a target. Statuses 400 and 413 are the request's. */
function isTargetFailure(error: unknown): boolean {
  return !(error instanceof ModelError) || ![400, 413].includes(error.options.status ?? 500);
}

/** Defeats TypeScript's narrowing: the sink may close during an await. */
function isClosed(sink: ModelSink): boolean {
  return sink.isClosed;
}

/**
 * Orders the targets of a turn, or of embeddings without one: first the target that answered the parent, whose prompt cache is likely to hold the transcript;
 * then by `prompt_cache_key`, or else at random, both by weight; last those that failed recently.
 */
function orderTargets(
  targets: readonly Target[],
  turn: Turn | undefined,
  health: TargetHealth,
  random: Random,
): readonly Target[] {
  if (targets.length === 1) return targets;
  const { provider, model } = turn?.parent?.origin ?? {};
  const there = targets.filter(({ providerName }) => providerName === provider);
  const known = there.find(({ toModel }) => toModel(turn?.settings.model ?? '') === model) ?? there[0];
  const key = turn?.settings.prompt_cache_key ?? null;
  const left = targets.filter((target) => target !== known);
  const others = key === null ? shuffle(left, random) : rank(left, key);
  const ordered = known === undefined ? others : [known, ...others];
  const isResting = (target: Target): boolean => health.isResting(target);
  return [...ordered.filter((target) => !isResting(target)), ...ordered.filter(isResting)];
}

/** Weighted rendezvous hashing: the same order for the same key, with turns distributed by weight over many keys. */
function rank(targets: readonly Target[], key: string): readonly Target[] {
  const scores = new Map(
    targets.map((target, index) => [target, -Math.log(drawn(key, target, index)) / target.weight]),
  );
  return targets.toSorted((one, other) => (scores.get(one) ?? 0) - (scores.get(other) ?? 0));
}

/** A number above 0, up to 1. */
function drawn(key: string, { providerName }: Target, index: number): number {
  const digest = hash('sha256', `${index} ${providerName} ${key}`).slice(0, 12);
  return (Number.parseInt(digest, 16) + 1) / 0x1_0000_0000_0000;
}

/** A random order in which each position is drawn by weight. */
function shuffle(targets: readonly Target[], random: Random): readonly Target[] {
  const left = [...targets];
  const drawn: Target[] = [];
  while (left.length > 0) {
    let point = random.next() * left.reduce((sum, { weight }) => sum + weight, 0);
    const index = left.findIndex(({ weight }) => (point -= weight) < 0);
    drawn.push(...left.splice(index === -1 ? left.length - 1 : index, 1));
  }
  return drawn;
}

/** How a turn reaches a target. */
interface RoutedTurnOptions {
  /** The target's name of the model. */
  readonly model: string;
  readonly mostOutputTokens: number | undefined;
  /** Whether another target is asked if this one fails. */
  readonly hasOthers: boolean;
  /** Whether the service compacts its context, although the target could: then `context_management` is not for the target. */
  readonly isCompacted: boolean;
  readonly view: ItemView;
}

/** A turn as a target is given it: with its name of the model, with `max_output_tokens` capped, and with what it can read. */
class RoutedTurn extends DerivedTurn {
  private readonly view: ItemView;

  constructor(
    private readonly turn: Turn,
    { model, mostOutputTokens, hasOthers, isCompacted, view }: RoutedTurnOptions,
  ) {
    const { settings, parameters } = turn;
    const limit = Math.min(settings.max_output_tokens ?? Infinity, mostOutputTokens ?? Infinity);
    super(
      turn,
      { ...settings, model, max_output_tokens: Number.isFinite(limit) ? limit : null },
      isCompacted ? withoutContextManagement(parameters) : parameters,
      hasOthers,
    );
    this.view = view;
  }

  get input(): readonly Item[] {
    return this.view(this.turn.input);
  }

  get context(): readonly Item[] {
    return this.view(this.turn.context);
  }
}

function withoutContextManagement(parameters: Turn['parameters']): Turn['parameters'] {
  const { context_management: _, ...others } = parameters;
  return others;
}
