import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { ApiError } from '../protocol/index.js';
import { Environment } from '../config/index.js';
import { Clock } from '../time/index.js';
import { type ModelInfo, ModelProvider, ModelProviderBase } from './model-provider.js';
import { Recorder } from './recording/index.js';

/** Where a model's turns go. */
export interface ModelRoute {
  readonly providerName: string;
  readonly provider: ModelProviderBase;
  readonly model: ModelInfo;
}

/** Knows every class marked `@ModelProvider` in the application, and which of them serves a model name. */
@Injectable()
export class ProviderRegistry implements OnApplicationBootstrap {
  private readonly logger = new Logger(ProviderRegistry.name);
  private providers: ReadonlyMap<string, ModelProviderBase> = new Map();
  private routes: ReadonlyMap<string, ModelRoute> = new Map();
  private refreshing: Promise<void> | null = null;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly clock: Clock,
    private readonly environment: Environment,
    private readonly recorder: Recorder,
  ) {}

  /** Finds the providers. Throws when two share a name or one does not extend ModelProviderBase: the start fails. */
  async onApplicationBootstrap(): Promise<void> {
    const found = new Map<string, ModelProviderBase>();
    for (const wrapper of this.discovery.getProviders({ metadataKey: ModelProvider.KEY })) {
      const name = this.discovery.getMetadataByDecorator(ModelProvider, wrapper);
      const instance: unknown = wrapper.instance;
      if (name === undefined || instance === found.get(name)) continue;
      if (!(instance instanceof ModelProviderBase)) {
        throw new Error(`The provider '${name}' must extend ModelProviderBase.`);
      }
      if (found.has(name)) throw new Error(`Two providers are named '${name}'.`);
      found.set(name, instance);
    }
    this.providers = this.recorder.watch(found);
    await this.refresh();
  }

  /** All models of all providers, asked anew. A provider that does not answer is listed as it was last. */
  async list(): Promise<readonly ModelInfo[]> {
    await this.refresh();
    return [...this.routes.values()].map(({ model }) => model);
  }

  /** The provider of a model. Throws ApiError 404 `model_not_found`. */
  route(model: string): ModelRoute {
    const listed = this.routes.get(model);
    if (listed !== undefined) return listed;
    for (const [providerName, provider] of this.providers) {
      const found = provider.find(model, { alone: this.providers.size === 1 });
      if (found !== undefined) return { providerName, provider, model: found };
    }
    throw ApiError.of('model_not_found', `The model '${model}' does not exist or you do not have access to it.`, {
      param: 'model',
    });
  }

  /** Everybody who asks at the same time shares one round of questions. */
  private refresh(): Promise<void> {
    this.refreshing ??= this.askAll().finally(() => (this.refreshing = null));
    return this.refreshing;
  }

  private async askAll(): Promise<void> {
    const answers = await Promise.all([...this.providers].map(([name, provider]) => this.ask(name, provider)));
    const routes = new Map<string, ModelRoute>();
    for (const route of answers.flat()) if (!routes.has(route.model.id)) routes.set(route.model.id, route);
    this.routes = routes;
  }

  /** What a provider lists now, or what it listed last when it does not answer. */
  private async ask(providerName: string, provider: ModelProviderBase): Promise<readonly ModelRoute[]> {
    try {
      const answer = await this.clock.within(provider.models(), this.environment.MODEL_LIST_TIMEOUT_MS);
      if (answer === undefined) throw new Error('no answer');
      return answer.value.map((model) => ({ providerName, provider, model }));
    } catch (error) {
      this.logger.warn(`the provider '${providerName}' did not list its models: ${String(error)}`);
      return [...this.routes.values()].filter((route) => route.providerName === providerName);
    }
  }
}
