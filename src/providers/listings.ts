import { Logger } from '@nestjs/common';

import type { Clock } from '../time/index.js';
import type { ModelInfo, ModelProviderBase } from './model-provider.js';

/** What providers list themselves, as they listed it last. */
export class Listings {
  private readonly logger = new Logger('ProviderRegistry');
  private models = new Map<string, ReadonlyMap<string, ModelInfo>>();
  private silent = new Set<string>();
  private refreshing: Promise<void> | null = null;

  /** `limitMs` is how long a provider may take. */
  constructor(
    private readonly providers: ReadonlyMap<string, ModelProviderBase>,
    private readonly clock: Clock,
    private readonly limitMs: number,
  ) {}

  /** Asks everybody anew. Whoever asks at the same time shares one round of questions. */
  refresh(): Promise<void> {
    this.refreshing ??= this.askAll().finally(() => (this.refreshing = null));
    return this.refreshing;
  }

  /** Asks again, in the background, if anybody did not answer the last time: a server may have started after us. */
  refreshIfSilent(): void {
    if (this.silent.size > 0) void this.refresh();
  }

  /** A model of a provider, as it lists it. */
  lookUp(providerName: string, model: string): ModelInfo | undefined {
    return this.models.get(providerName)?.get(model);
  }

  /** Every model of a provider. */
  modelsOf(providerName: string): readonly ModelInfo[] {
    return [...(this.models.get(providerName)?.values() ?? [])];
  }

  private async askAll(): Promise<void> {
    await Promise.all([...this.providers].map(([name, provider]) => this.ask(name, provider)));
  }

  /** What does not answer is listed as it was last. */
  private async ask(name: string, provider: ModelProviderBase): Promise<void> {
    try {
      const answer = await this.clock.within(provider.models(), this.limitMs);
      if (answer === undefined) throw new Error('no answer');
      answer.value.forEach(requireModel);
      this.models.set(name, new Map(answer.value.map((model) => [model.id, model])));
      this.silent.delete(name);
    } catch (error) {
      this.silent.add(name);
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
