import { Logger } from '@nestjs/common';

import { OutageLog } from '../logging/index.js';
import type { Clock } from '../time/index.js';
import type { ModelInfo, ModelProviderBase } from './model-provider.js';

/** Minimum time between background requests, ms. */
const BACKGROUND_PAUSE_MS = 5000;

/** Caches the model lists of providers. */
export class Listings {
  private readonly outages = new OutageLog(new Logger('ProviderRegistry'));
  private readonly models = new Map<string, ReadonlyMap<string, ModelInfo>>();
  /** Providers whose last request timed out; `refresh` does not wait for them. */
  private readonly silent = new Set<string>();
  /** Providers whose last request failed or timed out. */
  private readonly failed = new Set<string>();
  private askedInBackgroundAt = -Infinity;
  private refreshing: Promise<void> | null = null;

  /** `limitMs` is the timeout of a request. */
  constructor(
    private readonly providers: ReadonlyMap<string, ModelProviderBase>,
    private readonly clock: Clock,
    private readonly limitMs: number,
  ) {}

  /**
   * Requests all lists. Concurrent calls share one round of requests; providers that timed out before are requested in the
   * background.
   */
  refresh(): Promise<void> {
    this.refreshing ??= this.askAll().finally(() => (this.refreshing = null));
    this.askInBackground(this.silent);
    return this.refreshing;
  }

  /** Retries failed requests in the background: a server may have started after the service. */
  askFailed(): void {
    this.askInBackground(this.failed);
  }

  /** A model of a provider; undefined if the provider does not list it. */
  lookUp(providerName: string, model: string): ModelInfo | undefined {
    return this.models.get(providerName)?.get(model);
  }

  /** The models that a provider lists. */
  modelsOf(providerName: string): readonly ModelInfo[] {
    return [...(this.models.get(providerName)?.values() ?? [])];
  }

  private askInBackground(names: ReadonlySet<string>): void {
    if (names.size === 0 || this.clock.now() - this.askedInBackgroundAt < BACKGROUND_PAUSE_MS) return;
    this.askedInBackgroundAt = this.clock.now();
    for (const [name, provider] of this.providers) if (names.has(name)) void this.ask(name, provider);
  }

  private async askAll(): Promise<void> {
    const speaking = [...this.providers].filter(([name]) => !this.silent.has(name));
    await Promise.all(speaking.map(([name, provider]) => this.ask(name, provider)));
  }

  /** Requests a list; keeps the previous one on failure. */
  private async ask(name: string, provider: ModelProviderBase): Promise<void> {
    try {
      const answer = await this.clock.within(provider.models(), this.limitMs);
      if (answer === undefined) this.silent.add(name);
      else this.silent.delete(name);
      if (answer === undefined) throw new Error('no answer');
      answer.value.forEach(requireModel);
      this.models.set(name, new Map(answer.value.map((model) => [model.id, model])));
      this.failed.delete(name);
    } catch (error) {
      this.failed.add(name);
      this.outages.warn('a model list is not available', `'${name}': ${String(error)}`);
    }
  }
}

/** Throws an Error for an invalid model: providers may be untyped. */
function requireModel(model: Partial<ModelInfo> | null | undefined): void {
  const isModel =
    typeof model?.id === 'string' && typeof model.ownedBy === 'string' && Number.isSafeInteger(model.created);
  if (!isModel) throw new Error('a model needs id, ownedBy and created');
}
