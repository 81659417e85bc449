import { Listings, type ListingsDependencies, type ProviderCondition } from './listings.js';
import {
  type ModelInfo,
  type ModelProviderBase,
  type ModelRoute,
  NO_RULES,
  type ToleratedRule,
} from './model-provider.js';
import type { Price } from './provider-kind.js';
import {
  type AskedModel,
  type Configuration,
  type Destination,
  matchesGlob,
  type Random,
  RoutedProvider,
  RouteTable,
  TargetHealth,
} from './routing/index.js';

const NO_MEMBERS: ReadonlySet<string> = new Set();

type Providers = ReadonlyMap<string, ModelProviderBase>;

/** Dependencies of ProviderTable. */
export interface TableDependencies extends ListingsDependencies {
  /** Registered providers by name. */
  readonly classes: Providers;
  readonly configuration: Configuration | null;
  readonly random: Random;
}

/** An immutable snapshot of all providers and the names they serve. Each reload creates a new table. */
export class ProviderTable {
  /** Providers that serve their own model names, wrapped for routing where needed. */
  private readonly serving: Providers;
  private readonly listings: Listings;
  private readonly routes: RouteTable;
  private readonly isStrict: boolean;
  private readonly lookUp = (provider: string, model: string): ModelInfo | undefined =>
    this.listings.lookUp(provider, model);

  /** Throws an Error if the file conflicts with the registered providers. */
  constructor(private readonly dependencies: TableDependencies) {
    const { classes, configuration, clock, random } = dependencies;
    const destinations = gather(dependencies);
    // Without a file nothing is routed.
    const routing = { clock, random, health: new TargetHealth(clock), attempts: configuration?.attempts ?? 1 };
    const toServing = (name: string, destination: Destination): ModelProviderBase =>
      classes.has(name) ? destination.provider : RoutedProvider.before(name, destination, routing);
    const open = [...destinations].filter(([, { isOpen }]) => isOpen);
    this.serving = new Map(open.map(([name, destination]) => [name, toServing(name, destination)]));
    const listed = [...destinations].map(([name, { provider }]) => [name, provider] as const);
    this.listings = new Listings(new Map(listed), dependencies);
    this.isStrict = [...destinations.values()].every(({ tolerates }) => tolerates.size === 0);
    this.routes = new RouteTable(configuration?.models ?? [], destinations, routing);
  }

  /** Additional request members that any provider forwards. */
  get forwarded(): ReadonlySet<string> {
    return this.dependencies.configuration?.forwarded ?? NO_MEMBERS;
  }

  /** The members of requests that reach the upstreams of a model, whichever answers. */
  forwardedTo(model: string): ReadonlySet<string> {
    const provider = this.find(model)?.provider;
    return provider instanceof RoutedProvider ? provider.forwards : NO_MEMBERS;
  }

  /** The rules that do not apply to requests for a model. Looked up only if some provider tolerates any. */
  tolerated(model: string): ReadonlySet<ToleratedRule> {
    return this.isStrict ? NO_RULES : (this.find(model)?.provider.tolerates ?? NO_RULES);
  }

  /** What a model of a provider costs, by its name at the upstream; undefined if the file does not say. */
  priceOf(provider: string, model: string): Price | undefined {
    const prices = this.dependencies.configuration?.prices.get(provider);
    if (prices === undefined) return undefined;
    return Object.entries(prices).find(([glob]) => matchesGlob(glob, model))?.[1];
  }

  /** Requests the model lists of all providers. */
  refresh(): Promise<void> {
    return this.listings.refresh();
  }

  /** All listed models: those of the file first, then those of providers. */
  list(): readonly ModelInfo[] {
    const models = new Map(this.routes.list(this.lookUp).map(({ model }) => [model.id, model]));
    for (const name of this.serving.keys()) {
      for (const model of this.listings.modelsOf(name)) if (!models.has(model.id)) models.set(model.id, model);
    }
    return [...models.values()];
  }

  /** Routes a name by the entries of the file, model lists, `find` of the providers, and the file's default, in this order. */
  find(model: string): ModelRoute | undefined {
    const known = this.routes.find(model, this.lookUp) ?? this.listed(model) ?? this.found(model);
    if (known !== undefined) return known;
    this.listings.askFailed();
    return this.routes.findDefault(model, this.lookUp);
  }

  /** Whether all providers whose lists are served have listed their models, so that a name that is not found does not exist. */
  get isComplete(): boolean {
    return this.unknown.length === 0;
  }

  /** Why it is not complete: why the first list that is missing has not come; null as long as it may. */
  get missing(): string | null {
    return this.unknown.map((name) => this.listings.errorOf(name)).find((error) => error !== null) ?? null;
  }

  /** The providers whose lists are served and have never come. */
  private get unknown(): readonly string[] {
    return [...this.serving.keys()].filter((name) => !this.listings.isKnown(name));
  }

  /** The conditions of all providers, without a fallback that is not in use. */
  async describe(): Promise<readonly ProviderCondition[]> {
    const conditions = await this.listings.describe();
    return conditions.filter(({ name }) => this.serving.has(name) || !this.dependencies.classes.has(name));
  }

  /** What the file asks its upstreams for and they do not list, with what they list. Those that list nothing are left out. */
  get unlisted(): readonly (AskedModel & { readonly listed: readonly string[] })[] {
    const { classes } = this.dependencies;
    return this.routes.asked.flatMap((asked) => {
      const listed = this.listings.modelsOf(asked.providerName).map(({ id }) => id);
      const isKnown = listed.length === 0 || listed.includes(asked.model);
      return isKnown || classes.has(asked.providerName) ? [] : [{ ...asked, listed }];
    });
  }

  /** The providers of the file get no new turns. */
  retire(): void {
    this.dependencies.configuration?.retire();
  }

  /** Closes the connections of the file's providers. */
  async destroy(): Promise<void> {
    await this.dependencies.configuration?.destroy();
  }

  private listed(name: string): ModelRoute | undefined {
    for (const [providerName, provider] of this.serving) {
      const model = this.lookUp(providerName, name);
      if (model !== undefined) return { providerName, provider, model };
    }
    return undefined;
  }

  private found(name: string): ModelRoute | undefined {
    for (const [providerName, provider] of this.serving) {
      const model = provider.find(name, { alone: this.serving.size === 1 });
      if (model !== undefined) return { providerName, provider, model };
    }
    return undefined;
  }
}

/** All providers. Throws an Error if the file reuses the name of a registered one. */
function gather({ classes, configuration }: TableDependencies): ReadonlyMap<string, Destination> {
  const configured = configuration?.destinations ?? new Map<string, Destination>();
  const taken = [...configured.keys()].find((name) => classes.has(name));
  if (taken !== undefined) throw new Error(`providers.${taken} has the name of a registered provider`);
  const own = [...classes].map(([name, provider]) => {
    const isOpen = configuration === null || !provider.isFallback;
    return [name, { provider, retries: 0, isOpen, tolerates: provider.tolerates, forwards: NO_MEMBERS }] as const;
  });
  return new Map([...own, ...configured]);
}
