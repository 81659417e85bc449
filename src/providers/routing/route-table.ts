import type { ModelInfo, ModelRoute } from '../model-provider.js';
import { matchesGlob } from './matches-glob.js';
import type { ModelEntry, UpstreamEntry } from './providers-file.js';
import { RoutedProvider } from './routed-provider.js';
import type { Destination, RoutingDependencies, Target } from './target.js';

/** Looks up a model in the list of its provider. */
export type LookUpModel = (providerName: string, model: string) => ModelInfo | undefined;

/** Characters of a model name; patterns do not match longer names. */
const LONGEST_NAME = 256;

/** `created` of models that the provider does not list: 2026-01-01. */
const CREATED = 1_767_225_600;

/** A compiled entry of `models`. */
interface Rule {
  readonly entry: ModelEntry;
  readonly matches: (name: string) => boolean;
  readonly provider: RoutedProvider;
  readonly targets: readonly Target[];
}

/** A name of the file, and what a provider is asked for then. */
export interface AskedModel {
  readonly name: string;
  readonly providerName: string;
  readonly model: string;
}

/** Routes model names by the `models` of the file. */
export class RouteTable {
  private readonly exact = new Map<string, Rule>();
  private readonly patterns: readonly Rule[];
  private readonly fallback: Rule | undefined;

  /** Throws an Error for an entry that names an unknown provider. */
  constructor(
    entries: readonly ModelEntry[],
    destinations: ReadonlyMap<string, Destination>,
    dependencies: RoutingDependencies,
  ) {
    const rules = entries.map((entry, index) =>
      toRule(resolveAlias(entry, entries), index, destinations, dependencies),
    );
    for (const rule of rules) if (rule.entry.name !== undefined) this.exact.set(rule.entry.name, rule);
    const prefixes = rules.filter(({ entry }) => entry.prefix !== undefined);
    const length = ({ entry }: Rule): number => entry.prefix?.length ?? 0;
    this.patterns = [
      ...prefixes.toSorted((one, other) => length(other) - length(one)),
      ...rules.filter(({ entry }) => entry.glob !== undefined),
    ];
    this.fallback = rules.find(({ entry }) => entry.default === true);
  }

  /** The models with exact names, for `GET /v1/models`. */
  list(lookUp: LookUpModel): readonly ModelRoute[] {
    return [...this.exact].map(([name, rule]) => toRoute(name, rule, lookUp));
  }

  /** The route of a name that an entry names or matches. */
  find(name: string, lookUp: LookUpModel): ModelRoute | undefined {
    const rule = this.exact.get(name) ?? this.matching(name);
    return rule === undefined ? undefined : toRoute(name, rule, lookUp);
  }

  /** The route of the default entry, for unknown names. */
  findDefault(name: string, lookUp: LookUpModel): ModelRoute | undefined {
    return this.fallback === undefined ? undefined : toRoute(name, this.fallback, lookUp);
  }

  /** The names that entries ask upstreams for, without those of prefixes, globs and defaults. */
  get asked(): readonly AskedModel[] {
    return [...this.exact].flatMap(([name, { targets }]) =>
      targets.map(({ providerName, toModel }) => ({ name, providerName, model: toModel(name) })),
    );
  }

  private matching(name: string): Rule | undefined {
    return name.length > LONGEST_NAME ? undefined : this.patterns.find(({ matches }) => matches(name));
  }
}

/** Resolves an alias: the settings and upstreams of the entry it names, which also gives the upstream name. */
function resolveAlias(entry: ModelEntry, entries: readonly ModelEntry[]): ModelEntry {
  const meant = entries.find(({ name }) => entry.alias !== undefined && name === entry.alias);
  if (meant === undefined) return entry;
  const { provider: _, model: __, ...settings } = meant;
  const { alias: ___, ...own } = entry;
  const upstreams = upstreamsOf(meant).map((upstream) => ({ model: entry.alias ?? '', ...upstream }));
  return { ...settings, ...own, upstreams };
}

function toRule(
  entry: ModelEntry,
  index: number,
  destinations: ReadonlyMap<string, Destination>,
  dependencies: RoutingDependencies,
): Rule {
  const [first, ...others] = upstreamsOf(entry).map((upstream) => toTarget(upstream, entry, index, destinations));
  if (first === undefined) throw new Error(`models[${index}] has no upstream`);
  const provider = new RoutedProvider([first, ...others], dependencies, entry.max_output_tokens);
  return { entry, matches: toMatcher(entry), provider, targets: [first, ...others] };
}

function upstreamsOf({ upstreams, provider, model }: ModelEntry): readonly UpstreamEntry[] {
  if (upstreams !== undefined) return upstreams;
  return provider === undefined ? [] : [{ provider, ...(model === undefined ? {} : { model }) }];
}

function toTarget(
  { provider: providerName, model, weight = 1 }: UpstreamEntry,
  { prefix = '', strip = false }: ModelEntry,
  index: number,
  destinations: ReadonlyMap<string, Destination>,
): Target {
  const destination = destinations.get(providerName);
  if (destination === undefined) throw new Error(`models[${index}] names an unknown provider`);
  const toModel = (name: string): string => model ?? (strip ? name.slice(prefix.length) : name);
  return { ...destination, providerName, toModel, weight };
}

function toMatcher({ prefix, glob }: ModelEntry): (name: string) => boolean {
  if (prefix !== undefined) return (name) => name.startsWith(prefix) && name.length > prefix.length;
  return (name) => glob !== undefined && matchesGlob(glob, name);
}

function toRoute(name: string, { entry, provider, targets }: Rule, lookUp: LookUpModel): ModelRoute {
  const known = targets.map(({ providerName, toModel }) => lookUp(providerName, toModel(name)));
  // Any target may answer, so the smallest context window applies.
  const windows = known.map((model) => model?.contextWindow).filter((window) => window !== undefined);
  const contextWindow = entry.context_window ?? (windows.length === 0 ? undefined : Math.min(...windows));
  const [first] = known;
  const efforts = entry.reasoning_efforts ?? first?.reasoningEfforts;
  const effort = first?.defaultReasoningEffort;
  const hasEffort = effort !== undefined && efforts?.includes(effort) !== false;
  const steerable = targets.every((target, index) => known[index]?.steerable ?? target.provider.isSteerable);
  const model: ModelInfo = {
    id: name,
    ownedBy: entry.owned_by ?? first?.ownedBy ?? provider.first.providerName,
    created: first?.created ?? CREATED,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
    ...(efforts === undefined ? {} : { reasoningEfforts: efforts }),
    ...(hasEffort ? { defaultReasoningEffort: effort } : {}),
    ...(steerable === provider.isSteerable ? {} : { steerable }),
  };
  return { providerName: provider.first.providerName, provider, model };
}
