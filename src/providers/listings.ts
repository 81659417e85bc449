import { Logger } from '@nestjs/common';

import type { Clock } from '../time/index.js';
import type { ModelInfo, ModelProviderBase } from './model-provider.js';

/** How often providers are asked at most that nobody waits for, ms. */
const BACKGROUND_PAUSE_MS = 5000;

/** What providers list themselves, as they listed it last. */
export class Listings {
  private readonly logger = new Logger('ProviderRegistry');
  private readonly models = new Map<string, ReadonlyMap<string, ModelInfo>>();
  /** Those that did not answer in time: nobody waits for them again. */
  private readonly silent = new Set<string>();
  /** Those that gave no list, for whatever reason. */
  private readonly failed = new Set<string>();
  private askedInBackgroundAt = -Infinity;
  private refreshing: Promise<void> | null = null;

  /** `limitMs` is how long a provider may take. */
  constructor(
    private readonly providers: ReadonlyMap<string, ModelProviderBase>,
    private readonly clock: Clock,
    private readonly limitMs: number,
  ) {}

  /**
   * Asks everybody anew; those that did not answer the last time are not waited for. Whoever asks at the same time shares one
   * round of questions.
   */
  refresh(): Promise<void> {
    this.refreshing ??= this.askAll().finally(() => (this.refreshing = null));
    this.askInBackground(this.silent);
    return this.refreshing;
  }

  /** Asks those again, in the background, that gave no list the last time: a server may have started after us. */
  askFailed(): void {
    this.askInBackground(this.failed);
  }

  /** A model of a provider, as it lists it. */
  lookUp(providerName: string, model: string): ModelInfo | undefined {
    return this.models.get(providerName)?.get(model);
  }

  /** Every model of a provider. */
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

  /** What does not answer is listed as it was last. */
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
      this.logger.warn(`the provider '${name}' did not list its models: ${String(error)}`);
    }
  }
}

/** Clients choke on a list with a model that is none; not every provider is TypeScript. */
function requireModel(model: Partial<ModelInfo> | null | undefined): void {
  const isModel =
    typeof model?.id === 'string' && typeof model.ownedBy === 'string' && Number.isSafeInteger(model.created);
  if (!isModel) throw new Error('a model needs id, ownedBy and created');
}
