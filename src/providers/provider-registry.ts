import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { Environment, EnvironmentError, firstLineOf } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { Clock } from '../time/index.js';
import { FORWARDED_HEADERS, type ModelInfo, ModelProvider, ModelProviderBase, PROVIDERS } from './model-provider.js';
import type { ModelRoute } from './model-route.js';
import { Recorder } from './recording/index.js';
import { type Configuration, ConfiguredProviders, Random } from './routing/index.js';
import { ProviderTable } from './provider-table.js';

/**
 * Knows every provider, those of classes marked `@ModelProvider` and those of PROVIDERS_FILE, and which of them serves a model
 * name. SIGHUP reads the file again; running turns end where they began, and the connections of before close for want of use.
 */
@Injectable()
export class ProviderRegistry implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ProviderRegistry.name);
  private classes: ReadonlyMap<string, ModelProviderBase> = new Map();
  /** Request headers that providers read, in lower case. Nothing else that a client sends in headers reaches a turn. */
  requestHeaders: readonly string[] = [];
  private current: ProviderTable | null = null;
  private reloading: Promise<void> = Promise.resolve();
  private readonly onSighup = (): void => void (this.reloading = this.reloading.then(() => this.reload()));

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

  /** Throws EnvironmentError where neither the program nor PROVIDERS_FILE brings a provider. Called before the service starts. */
  requireProviders(): void {
    if (this.environment.PROVIDERS_FILE !== '' || this.given.length > 0 || this.marked().length > 0) return;
    throw new EnvironmentError(['No model provider: give `providers`, set PROVIDERS_FILE, or import SimulatorModule.']);
  }

  /**
   * Finds the providers. Throws when two share a name or one does not extend ModelProviderBase, and EnvironmentError where there
   * is none or for a file that cannot be used: the start fails.
   */
  async onApplicationBootstrap(): Promise<void> {
    this.requireProviders();
    this.classes = this.discover();
    this.requestHeaders = headersOf(this.forwardedHeaders, this.classes.values());
    this.current = await this.load();
    if (this.environment.PROVIDERS_FILE !== '') process.on('SIGHUP', this.onSighup);
  }

  async onApplicationShutdown(): Promise<void> {
    process.off('SIGHUP', this.onSighup);
    await this.reloading;
    await this.current?.destroy();
  }

  /** Request members beyond those of the API that a provider takes. */
  get forwarded(): ReadonlySet<string> {
    return this.table.forwarded;
  }

  /** All models of all providers, asked anew. A provider that does not answer is listed as it was last. */
  async list(): Promise<readonly ModelInfo[]> {
    await this.table.refresh();
    return this.table.list();
  }

  /** The provider of a model. Throws ApiError 404 `model_not_found`. */
  route(model: string): ModelRoute {
    const route = this.table.find(model);
    // One recording for a turn, however many upstreams were asked.
    if (route !== undefined) return { ...route, provider: this.recorder.around(route.providerName, route.provider) };
    throw ApiError.of('model_not_found', `The model '${model}' does not exist or you do not have access to it.`, {
      param: 'model',
    });
  }

  /** Reads the file again. One that cannot be used changes nothing. */
  async reload(): Promise<void> {
    const { PROVIDERS_FILE: path } = this.environment;
    try {
      this.current = await this.load();
      this.logger.log(`${path} was read again`);
    } catch (error) {
      const reason = error instanceof EnvironmentError ? error.message : String(error);
      this.logger.error(`${path} was read again and is not used: ${reason}`);
    }
  }

  private get table(): ProviderTable {
    if (this.current === null) throw new Error('providers are known once the application is up');
    return this.current;
  }

  private async load(): Promise<ProviderTable> {
    const configuration = await this.configured.read();
    if (configuration?.destinations.size === 0) this.logger.warn('PROVIDERS_FILE has no providers');
    const table = this.assemble(configuration);
    await table.refresh();
    return table;
  }

  /** Throws EnvironmentError for a file that does not fit the program's own providers. */
  private assemble(configuration: Configuration | null): ProviderTable {
    const dependencies = {
      classes: this.classes,
      configuration,
      clock: this.clock,
      random: this.random,
      listLimitMs: this.environment.MODEL_LIST_TIMEOUT_MS,
    };
    const recorded = [...this.classes].filter(([, provider]) => provider.isRecorded).map(([name]) => name);
    this.recorder.setProviders(
      [...recorded, ...(configuration?.destinations.keys() ?? [])],
      configuration?.secrets ?? [],
    );
    try {
      return new ProviderTable(dependencies);
    } catch (error) {
      throw new EnvironmentError([`PROVIDERS_FILE: ${this.environment.PROVIDERS_FILE}: ${firstLineOf(error)}.`]);
    }
  }

  /** Those that the program gave, then those that its modules provide. */
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

/** The name in `@ModelProvider`. Throws an Error where there is none. */
function nameOf(instance: unknown): string {
  const kind = (instance as object).constructor;
  const name: unknown = Reflect.getMetadata(ModelProvider.KEY, kind);
  if (typeof name !== 'string')
    throw new Error(`The provider ${kind.name} must be marked with @ModelProvider('name').`);
  return name;
}

/** What a client proves who it is with. A provider has credentials of its own. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Throws an Error for a header that must not leave the service. */
function headersOf(forwarded: readonly string[], providers: Iterable<ModelProviderBase>): readonly string[] {
  const names = [...forwarded, ...[...providers].flatMap(({ requestHeaders }) => requestHeaders)];
  const lowerCase = [...new Set(names.map((name) => name.toLowerCase()))];
  const credential = lowerCase.find((name) => CREDENTIALS.has(name));
  if (credential !== undefined) throw new Error(`The header '${credential}' cannot be forwarded: it is a credential.`);
  return lowerCase;
}
