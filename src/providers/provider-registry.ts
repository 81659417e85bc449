import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { Environment, EnvironmentError, firstLineOf } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { Clock } from '../time/index.js';
import { didYouMean, isNearMiss } from '../validation/index.js';
import { BACKGROUND_PAUSE_MS, type ProviderCondition } from './listings.js';
import { type ModelLimit, mayUseModel } from './may-use-model.js';
import { ModelError } from './model-error.js';
import {
  FORWARDED_HEADERS,
  type ModelInfo,
  ModelProvider,
  ModelProviderBase,
  type ModelRoute,
  PROVIDERS,
  type ToleratedRule,
} from './model-provider.js';
import type { Price } from './provider-kind.js';
import { Recorder } from './recording/recorder.js';
import { findSecrets } from './redact.js';
import { type Configuration, ConfiguredProviders, Random } from './routing/index.js';
import { ProviderTable, type TableDependencies } from './provider-table.js';
import type { HeaderNames } from './turn.js';

/**
 * The registry of providers, from classes marked `@ModelProvider` and from PROVIDERS_FILE, and of the model names they serve.
 * SIGHUP reloads the file. Running turns finish at their provider; its idle connections then time out.
 */
@Injectable()
export class ProviderRegistry implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('ProviderRegistry');
  private classes: ReadonlyMap<string, ModelProviderBase> = new Map();
  /** The names of request headers that reach turns; no other header does. */
  headerNames: HeaderNames = { forwarded: [], read: [] };
  private current: ProviderTable | null = null;
  private reloading: Promise<void> = Promise.resolve();
  private readonly onSighup = (): void => void this.reload();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly configured: ConfiguredProviders,
    private readonly recorder: Recorder,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly environment: Environment,
    @Inject(PROVIDERS) private readonly given: readonly ModelProviderBase[],
    @Inject(FORWARDED_HEADERS) private readonly forwardedHeaders: readonly string[],
  ) {}

  /** Throws EnvironmentError if there is neither a provider nor a PROVIDERS_FILE. Called before the service starts. */
  requireProviders(): void {
    if (this.environment.PROVIDERS_FILE !== '' || this.given.length > 0 || this.marked().length > 0) return;
    throw new EnvironmentError(['No model provider: pass `providers`, set PROVIDERS_FILE, or import SimulatorModule.']);
  }

  /**
   * Registers the providers. Throws an Error if two share a name or one does not extend ModelProviderBase, and EnvironmentError if
   * there is none or the file is invalid.
   */
  async onApplicationBootstrap(): Promise<void> {
    this.requireProviders();
    this.classes = this.discover();
    this.current = await this.load(await this.configured.read());
    if (this.environment.PROVIDERS_FILE !== '') process.on('SIGHUP', this.onSighup);
  }

  async onApplicationShutdown(): Promise<void> {
    process.off('SIGHUP', this.onSighup);
    await this.reloading;
    await this.current?.destroy();
  }

  /** Additional request members that any provider forwards. */
  get forwarded(): ReadonlySet<string> {
    return this.table.forwarded;
  }

  /** The members of requests that reach the upstreams of a model, whichever answers; none if no provider serves it. */
  forwardedTo(model: string): ReadonlySet<string> {
    return this.table.forwardedTo(model);
  }

  /** The rules that do not apply to requests for a model; none if no provider serves it. */
  tolerated(model: string): ReadonlySet<ToleratedRule> {
    return this.table.tolerated(model);
  }

  /** Whether a model sees images; not if no provider serves it. */
  seesImages(model: string): boolean {
    return this.table.find(model)?.provider.seesImages(model) ?? false;
  }

  /** The effort of turns for this model that ask for none; null if the model does not say. */
  defaultEffort(model: string): string | null {
    return this.table.find(model)?.model.defaultReasoningEffort ?? null;
  }

  /** The efforts that this model takes; undefined if it does not say. */
  effortsOf(model: string): readonly string[] | undefined {
    return this.table.find(model)?.model.reasoningEfforts;
  }

  /** What a model of a provider costs, by its name at the upstream; undefined if PROVIDERS_FILE does not say. */
  priceOf(provider: string, model: string): Price | undefined {
    return this.table.priceOf(provider, model);
  }

  /** Lists all models, with new requests to the providers. If a request fails, the provider's previous list is used. */
  async list(): Promise<readonly ModelInfo[]> {
    await this.table.refresh();
    return this.table.list();
  }

  /** The models that providers have listed so far and a caller may use; asks no provider. */
  listed(caller: ModelLimit): readonly ModelInfo[] {
    return this.table.list().filter(({ id }) => mayUseModel(caller, id));
  }

  /** The conditions of all providers, from requests that are a few seconds old at most. */
  conditions(): Promise<readonly ProviderCondition[]> {
    return this.table.describe();
  }

  /**
   * The route of a model. Throws ApiError 404 `model_not_found` if no provider has it, and 503 `model_unavailable` as long as this
   * is not known, because a provider has not listed its models. The 404 suggests a listed model that the caller may use and may have meant.
   */
  route(model: string, caller: ModelLimit = {}): ModelRoute {
    const route = this.find(model, caller);
    // Recorded once per turn, even if routing tries several upstreams.
    return { ...route, provider: this.recorder.around(route.providerName, route.provider) };
  }

  private find(model: string, caller: ModelLimit): ModelRoute {
    const route = this.table.find(model);
    if (route !== undefined) return route;
    if (!this.table.isComplete) throw notKnownYet(model, this.table.missing);
    throw modelNotFound(model, findMeant(model, this.listed(caller)));
  }

  /** The provider that embeds for a model. Throws as `route` does; RECORD_FILE records turns only. */
  embedder(model: string, caller: ModelLimit = {}): ModelRoute {
    return this.find(model, caller);
  }

  /** Reloads the file, after a reload that is under way. If it is invalid, the previous configuration stays. Never rejects. */
  reload(): Promise<void> {
    return (this.reloading = this.reloading.then(() => this.replace()));
  }

  private async replace(): Promise<void> {
    const { PROVIDERS_FILE: path } = this.environment;
    try {
      const configuration = await this.configured.read();
      // An editor that saves empties the file first.
      if (configuration?.isBlank === true) {
        throw new EnvironmentError([`PROVIDERS_FILE: ${path}: the file is blank; write {} to remove all providers.`]);
      }
      const replaced = this.current;
      this.current = await this.load(configuration);
      replaced?.retire();
      this.logger.log(`reloaded ${path}`);
    } catch (error) {
      const reason = error instanceof EnvironmentError ? error.message : String(error);
      this.logger.error(`cannot reload ${path}, keeping the previous configuration: ${reason}`);
    }
  }

  private get table(): ProviderTable {
    if (this.current === null) throw new Error('the providers are not loaded yet');
    return this.current;
  }

  private async load(configuration: Configuration | null): Promise<ProviderTable> {
    if (configuration?.destinations.size === 0) this.logger.warn('PROVIDERS_FILE has no providers');
    const table = this.assemble(configuration);
    await table.refresh();
    return table;
  }

  /** Throws EnvironmentError if the file conflicts with the registered providers. */
  private assemble(configuration: Configuration | null): ProviderTable {
    const dependencies = {
      classes: this.classes,
      configuration,
      clock: this.clock,
      random: this.random,
      listLimitMs: this.environment.MODEL_LIST_TIMEOUT_MS,
      secrets: [...findSecrets(process.env, this.environment.API_KEYS), ...(configuration?.secrets ?? [])],
    };
    const table = this.makeTable(dependencies);
    const configured = [...(configuration?.destinations ?? [])].map(
      ([name, { provider }]) => [name, provider] as const,
    );
    const providers = [...this.classes, ...configured];
    this.headerNames = {
      forwarded: toHeaderNames(this.forwardedHeaders),
      read: toHeaderNames(providers.flatMap(([, { requestHeaders }]) => requestHeaders)),
    };
    const recorded = providers.filter(([, provider]) => provider.isRecorded).map(([name]) => name);
    this.recorder.setProviders(recorded, configuration?.secrets ?? []);
    return table;
  }

  private makeTable(dependencies: TableDependencies): ProviderTable {
    try {
      return new ProviderTable(dependencies);
    } catch (error) {
      throw new EnvironmentError([`PROVIDERS_FILE: ${this.environment.PROVIDERS_FILE}: ${firstLineOf(error)}.`]);
    }
  }

  /** The providers passed in `providers`, then those of modules. */
  private discover(): ReadonlyMap<string, ModelProviderBase> {
    const marked = this.marked().map((wrapper) => wrapper.instance as unknown);
    const found = new Map<string, ModelProviderBase>();
    for (const instance of new Set([...this.given, ...marked])) {
      const name = nameOf(instance);
      if (!(instance instanceof ModelProviderBase)) {
        throw new Error(`The provider '${name}' must extend ModelProviderBase.`);
      }
      if (found.has(name)) throw new Error(`Two providers are named '${name}'.`);
      found.set(name, instance);
    }
    return found;
  }

  private marked(): ReturnType<DiscoveryService['getProviders']> {
    return this.discovery.getProviders({ metadataKey: ModelProvider.KEY });
  }
}

/**
 * The 503 for a model that a provider may list once it answers. Its list is asked for again after BACKGROUND_PAUSE_MS. The log shows `reason`
 * if it is the name of a system error.
 */
function notKnownYet(model: string, reason: string | null): ApiError {
  const message = `The model '${model}' is not available at the moment. Please retry your request.`;
  return ApiError.of('model_unavailable', message, {
    param: 'model',
    headers: { 'retry-after': String(BACKGROUND_PAUSE_MS / 1000) },
    cause: new ModelError('model_unavailable', message, { cause: { code: reason } }),
  });
}

/** The name in `@ModelProvider`. Throws an Error if the class is not marked. */
function nameOf(instance: unknown): string {
  const kind = (instance as object).constructor;
  const name: unknown = Reflect.getMetadata(ModelProvider.KEY, kind);
  if (typeof name !== 'string')
    throw new Error(`The provider ${kind.name} must be marked with @ModelProvider('name').`);
  return name;
}

/** Headers with credentials of clients; providers have their own. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/** Names in lower case, each once. Throws an Error for a header with credentials. */
function toHeaderNames(names: readonly string[]): readonly string[] {
  const lowerCase = [...new Set(names.map((name) => name.toLowerCase()))];
  const credential = lowerCase.find((name) => CREDENTIALS.has(name));
  if (credential !== undefined) throw new Error(`The header '${credential}' cannot be forwarded: it is a credential.`);
  return lowerCase;
}

/** The answer for a model that does not exist, or of which the caller is not to know; `meant` is one that it may know. */
export function modelNotFound(model: string, meant?: string): ApiError {
  const suggestion = meant === undefined ? '' : ` Did you mean '${meant}'?`;
  return ApiError.of(
    'model_not_found',
    `The model '${model}' does not exist or you do not have access to it.${suggestion}`,
    { param: 'model' },
  );
}

/** The name that another one must be a slip of, if there is one. */
function findMeant(model: string, listed: readonly ModelInfo[]): string | undefined {
  const names = listed.map(({ id }) => id);
  const plain = (name: string): string => name.trim().toLowerCase();
  const same = names.find((name) => plain(name) === plain(model));
  return same ?? didYouMean(model, names).find((name) => isNearMiss(model, [name]));
}
