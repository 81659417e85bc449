import { Logger } from '@nestjs/common';

import { OutageLog } from '../logging/index.js';
import type { Clock } from '../time/index.js';
import type { ModelInfo, ModelProviderBase } from './model-provider.js';
import { reasonOf } from './scrub.js';

/** Minimum time between requests that no client has asked for, ms. */
export const BACKGROUND_PAUSE_MS = 5000;

/** Dependencies of Listings. */
export interface ListingsDependencies {
  readonly clock: Clock;
  /** Timeout of a request, ms. */
  readonly listLimitMs: number;
  /** Values that are redacted from what conditions tell. */
  readonly secrets: readonly string[];
}

/** Caches the model lists of providers. */
export class Listings {
  private readonly outages = new OutageLog(new Logger('ProviderRegistry'));
  private readonly listings: ReadonlyMap<string, Listing>;
  private askedAt = -Infinity;
  private askedInBackgroundAt = -Infinity;
  private refreshing: Promise<void> | null = null;

  constructor(
    private readonly providers: ReadonlyMap<string, ModelProviderBase>,
    private readonly dependencies: ListingsDependencies,
  ) {
    const now = dependencies.clock.now();
    this.listings = new Map([...providers.keys()].map((name) => [name, new Listing(name, now)]));
  }

  /**
   * Requests all lists. Concurrent calls share one round of requests; providers that timed out before are requested in the
   * background.
   */
  refresh(): Promise<void> {
    this.refreshing ??= this.askAll().finally(() => (this.refreshing = null));
    this.askInBackground(({ isSilent }) => isSilent);
    return this.refreshing;
  }

  /** Retries failed requests in the background: a server may have started after the service. */
  askFailed(): void {
    this.askInBackground(({ hasFailed }) => hasFailed);
  }

  /** A model of a provider; undefined if the provider does not list it. */
  lookUp(providerName: string, model: string): ModelInfo | undefined {
    return this.listings.get(providerName)?.find(model);
  }

  /** The models that a provider lists. */
  modelsOf(providerName: string): readonly ModelInfo[] {
    return this.listings.get(providerName)?.all ?? [];
  }

  /** Whether a provider has ever listed its models. */
  isKnown(providerName: string): boolean {
    return this.listings.get(providerName)?.isKnown === true;
  }

  /** Why the last request for the list of a provider failed, without secrets; null if it did not. */
  errorOf(providerName: string): string | null {
    return this.listings.get(providerName)?.error ?? null;
  }

  /** The conditions of all providers, from requests that are at most BACKGROUND_PAUSE_MS old. */
  async describe(): Promise<readonly ProviderCondition[]> {
    const isRecent = this.dependencies.clock.now() - this.askedAt < BACKGROUND_PAUSE_MS;
    await (isRecent ? this.refreshing : this.refresh());
    return [...this.listings].map(([name, listing]) => {
      const statistics = this.providers.get(name)?.statistics?.();
      return { ...listing.describe(), ...(statistics === undefined ? {} : { statistics }) };
    });
  }

  private askInBackground(isWanted: (listing: Listing) => boolean): void {
    const wanted = [...this.listings].filter(([, listing]) => isWanted(listing));
    const now = this.dependencies.clock.now();
    if (wanted.length === 0 || now - this.askedInBackgroundAt < BACKGROUND_PAUSE_MS) return;
    this.askedInBackgroundAt = now;
    for (const [name, listing] of wanted) void this.ask(name, listing);
  }

  private async askAll(): Promise<void> {
    this.askedAt = this.dependencies.clock.now();
    const speaking = [...this.listings].filter(([, { isSilent }]) => !isSilent);
    await Promise.all(speaking.map(([name, listing]) => this.ask(name, listing)));
  }

  /** Requests a list; keeps the previous one on failure. */
  private async ask(name: string, listing: Listing): Promise<void> {
    const { clock, listLimitMs, secrets } = this.dependencies;
    try {
      const answer = await clock.within(this.modelsAt(name), listLimitMs);
      listing.isSilent = answer === undefined;
      if (answer === undefined) throw new Error('no answer');
      listing.arrived(answer.value, clock.now());
    } catch (error) {
      const reason = reasonOf(error, secrets);
      listing.failed(reason, clock.now());
      this.outages.warn('a provider did not list its models', `'${name}': ${reason}`);
    }
  }

  private async modelsAt(name: string): Promise<readonly ModelInfo[]> {
    return this.providers.get(name)?.models() ?? [];
  }
}

/** The model list of one provider, and how the requests for it go. */
class Listing {
  private models: ReadonlyMap<string, ModelInfo> | null = null;
  /** Why the last request failed, without secrets; null if it did not. */
  error: string | null = null;
  /** Whether the last request timed out, so that nobody waits for the next one. */
  isSilent = false;

  /** `since`: when its condition last changed, ms. */
  constructor(
    private readonly name: string,
    private since: number,
  ) {}

  /** Whether the provider has ever listed its models. */
  get isKnown(): boolean {
    return this.models !== null;
  }

  /** Whether the last request failed or timed out. */
  get hasFailed(): boolean {
    return this.error !== null;
  }

  get all(): readonly ModelInfo[] {
    return [...(this.models?.values() ?? [])];
  }

  find(model: string): ModelInfo | undefined {
    return this.models?.get(model);
  }

  /** Takes a list. Throws an Error for an invalid model, because providers may be untyped. */
  arrived(models: readonly ModelInfo[], now: number): void {
    models.forEach(requireModel);
    this.models = new Map(models.map((model) => [model.id, model]));
    if (this.hasFailed) this.since = now;
    this.error = null;
  }

  /** Notes why no list arrived; the last one stays. */
  failed(reason: string, now: number): void {
    if (!this.hasFailed) this.since = now;
    this.error = reason;
  }

  describe(): ProviderCondition {
    return {
      name: this.name,
      listed: this.isKnown,
      models: this.models?.size ?? 0,
      since: new Date(this.since).toISOString(),
      error: this.error,
    };
  }
}

function requireModel(model: Partial<ModelInfo> | null | undefined): void {
  const isModel =
    typeof model?.id === 'string' && typeof model.ownedBy === 'string' && Number.isSafeInteger(model.created);
  if (!isModel) throw new Error('a model needs id, ownedBy and created');
}

/** What is known of a provider, for `/readyz?verbose`. */
export interface ProviderCondition {
  readonly name: string;
  /** Whether it has listed its models, now or earlier. */
  readonly listed: boolean;
  /** Number of models in its last list. */
  readonly models: number;
  /** Since when its lists arrive, or fail to arrive; ISO 8601. */
  readonly since: string;
  /** Why its latest list did not arrive, without addresses and credentials; null if it did. */
  readonly error: string | null;
  /** What the provider has counted since it was created, if it counts anything. */
  readonly statistics?: Readonly<Record<string, number>>;
}
