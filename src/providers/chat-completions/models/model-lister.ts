import { Logger } from '@nestjs/common';

import type { ModelInfo } from '../../model-provider.js';
import { NoDocumentError, type UpstreamClient } from '../../upstream-http/index.js';
import type { Capabilities } from '../capabilities.js';
import { readModels } from './read-models.js';

/** What a ModelLister needs to know of its server. */
export interface ListerOptions {
  /** Name of the provider. */
  readonly name: string;
  readonly baseUrl: string;
  readonly capabilities: Capabilities;
  /** Capabilities that were configured; what the server lists does not change them. */
  readonly configured: ReadonlySet<keyof Capabilities>;
}

/** Paths that end with a version, such as `/v1` or `/v1beta`. */
const VERSIONED = /\/v\d+\w*$/;

/** Lists the models of a server, and remembers what they cannot read. */
export class ModelLister {
  private readonly logger = new Logger('ChatCompletionsProvider');
  private limited: ReadonlyMap<string, Capabilities> = new Map();
  private hasHinted = false;

  constructor(
    private readonly client: UpstreamClient,
    private readonly options: ListerOptions,
  ) {}

  /** Requests the list. Throws an Error if there is none. */
  async list(signal: AbortSignal): Promise<readonly ModelInfo[]> {
    const models = readModels(await this.get(signal), this.options.name);
    const limited = models.filter(({ lacking }) => Object.keys(lacking).length > 0);
    this.limited = new Map(limited.map(({ info, lacking }) => [info.id, this.without(lacking)]));
    return models.map(({ info }) => info);
  }

  /** The capabilities of the server with this model. */
  capabilitiesOf(model: string): Capabilities {
    return this.limited.get(model) ?? this.options.capabilities;
  }

  private without(lacking: Partial<Capabilities>): Capabilities {
    const { capabilities, configured } = this.options;
    const unconfigured = Object.entries(lacking).filter(([name]) => !configured.has(name as keyof Capabilities));
    return { ...capabilities, ...Object.fromEntries(unconfigured) };
  }

  private async get(signal: AbortSignal): Promise<unknown> {
    try {
      return await this.client.getJson('/models', signal);
    } catch (error) {
      if (error instanceof NoDocumentError) await this.hintAtVersion(signal);
      throw error;
    }
  }

  /** Says once if the list is not where `base_url` leads, but below its `/v1`, which is easily forgotten. */
  private async hintAtVersion(signal: AbortSignal): Promise<void> {
    const { name, baseUrl } = this.options;
    if (this.hasHinted || VERSIONED.test(new URL(baseUrl).pathname)) return;
    try {
      readModels(await this.client.getJson('/v1/models', signal), name);
    } catch {
      return;
    }
    this.hasHinted = true;
    this.logger.warn(`'${name}' has no list of models at its base_url, but at /v1 below it: add /v1 to its base_url`);
  }
}
