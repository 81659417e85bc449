import type { ModelInfo } from '../model-provider.js';
import type { ModelRoute } from '../model-route.js';
import { matchesGlob } from './matches-glob.js';
import type { ModelEntry, UpstreamEntry } from './providers-file.js';
import { RoutedProvider, type RoutingDependencies } from './routed-provider.js';
import type { Destination, Target } from './target.js';

/** What is known of a provider's model beyond the file: what the provider lists itself. */
export type LookUpModel = (providerName: string, model: string) => ModelInfo | undefined;

/** A name that is longer is no name of a model, and no pattern is tried on it. */
const LONGEST_NAME = 256;

/** The models of the file came into being with it; nobody knows when. */
const CREATED = 1_767_225_600;

/** An entry of the file, ready to match. */
interface Rule {
  readonly entry: ModelEntry;
  readonly matches: (name: string) => boolean;
  readonly provider: RoutedProvider;
  readonly targets: readonly Target[];
}

/** Which model names go where, as the file says. */
export class RouteTable {
  private readonly exact = new Map<string, Rule>();
  private readonly patterns: readonly Rule[];
  private readonly fallback: Rule | undefined;

  /** Throws an Error for an entry that names a provider that is not there. */
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

  /** The models whose names the file has, as `GET /v1/models` shows them. */
  list(lookUp: LookUpModel): readonly ModelRoute[] {
    return [...this.exact].map(([name, rule]) => toRoute(name, rule, lookUp));
  }

  /** Where a name goes that the file has, or a pattern of it matches. */
  find(name: string, lookUp: LookUpModel): ModelRoute | undefined {
    const rule = this.exact.get(name) ?? this.matching(name);
    return rule === undefined ? undefined : toRoute(name, rule, lookUp);
  }

  /** Where a name goes that nobody knows. */
  findDefault(name: string, lookUp: LookUpModel): ModelRoute | undefined {
    return this.fallback === undefined ? undefined : toRoute(name, this.fallback, lookUp);
  }

  private matching(name: string): Rule | undefined {
    return name.length > LONGEST_NAME ? undefined : this.patterns.find(({ matches }) => matches(name));
  }
}

/** An alias is its entry under another name; upstream it is called as the entry is. */
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
  if (first === undefined) throw new Error(`models[${index}] leads nowhere`);
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
  if (destination === undefined)
    throw new Error(`models[${index}] names a provider that is neither in the file nor in the program`);
  const toModel = (name: string): string => model ?? (strip ? name.slice(prefix.length) : name);
  return { ...destination, providerName, toModel, weight };
}

function toMatcher({ prefix, glob }: ModelEntry): (name: string) => boolean {
  if (prefix !== undefined) return (name) => name.startsWith(prefix) && name.length > prefix.length;
  return (name) => glob !== undefined && matchesGlob(glob, name);
}

function toRoute(name: string, { entry, provider, targets }: Rule, lookUp: LookUpModel): ModelRoute {
  const known = targets.map(({ providerName, toModel }) => lookUp(providerName, toModel(name)));
  // A turn may end up with any of them: the smallest window is safe everywhere.
  const windows = known.map((model) => model?.contextWindow).filter((window) => window !== undefined);
  const contextWindow = entry.context_window ?? (windows.length === 0 ? undefined : Math.min(...windows));
  const [first] = known;
  const efforts = entry.reasoning_efforts ?? first?.reasoningEfforts;
  const model: ModelInfo = {
    id: name,
    ownedBy: entry.owned_by ?? first?.ownedBy ?? provider.first.providerName,
    created: first?.created ?? CREATED,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
    ...(efforts === undefined ? {} : { reasoningEfforts: efforts }),
  };
  return { providerName: provider.first.providerName, provider, model };
}
