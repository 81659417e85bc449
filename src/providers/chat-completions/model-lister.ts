import type { Clock } from '../../time/index.js';
import type { ModelInfo } from '../model-provider.js';
import type { UpstreamClient } from '../upstream-http/upstream-client.js';
import { ModelList } from '../upstream-models/model-list.js';
import { readModels } from '../upstream-models/read-models.js';
import { isObject, objectsIn } from '../../validation/index.js';
import type { Capabilities } from './capabilities.js';

type Members = Readonly<Record<string, unknown>>;

/** Capabilities that a model does not have, whatever its server supports. */
type Lacking = Partial<Record<keyof Pick<Capabilities, 'images' | 'audio'>, false>>;

const TEXT_ONLY: Lacking = { images: false, audio: false };

/** What a ModelLister needs to know of its server. */
export interface ListerOptions {
  /** Name of the provider. */
  readonly name: string;
  readonly baseUrl: string;
  /** Values to redact from errors. */
  readonly secrets: readonly string[];
  readonly capabilities: Capabilities;
  /** Capabilities that were configured; what the server lists does not change them. */
  readonly configured: ReadonlySet<keyof Capabilities>;
}

/** Lists the models of a server, and remembers what they cannot read. */
export class ModelLister {
  private readonly models: ModelList;
  private limited: ReadonlyMap<string, Capabilities> = new Map();

  constructor(
    client: UpstreamClient,
    clock: Clock,
    private readonly options: ListerOptions,
  ) {
    this.models = new ModelList(client, clock, options);
  }

  /** Requests the list. Throws an Error if there is none. */
  async list(): Promise<readonly ModelInfo[]> {
    const answer = await this.models.get();
    const models = readModels(answer, this.options.name);
    const textOnly = readTextOnly(answer);
    const limited = models
      .map(({ info: { id }, entry }) => ({ id, lacking: textOnly.get(id) ?? readLacking(entry) }))
      .filter(({ lacking }) => Object.keys(lacking).length > 0);
    this.limited = new Map(limited.map(({ id, lacking }) => [id, this.without(lacking)]));
    return models.map(({ info }) => info);
  }

  /** The capabilities of the server with this model. */
  capabilitiesOf(model: string): Capabilities {
    return this.limited.get(model) ?? this.options.capabilities;
  }

  private without(lacking: Lacking): Capabilities {
    const { capabilities, configured } = this.options;
    const unconfigured = Object.entries(lacking).filter(([name]) => !configured.has(name as keyof Capabilities));
    return { ...capabilities, ...Object.fromEntries(unconfigured) };
  }
}

/** Reads what an entry of `GET /models` says that its model cannot read: `architecture.input_modalities` of OpenRouter. */
function readLacking({ architecture }: Members): Lacking {
  const modalities = isObject(architecture) ? architecture.input_modalities : undefined;
  if (!Array.isArray(modalities)) return {};
  return {
    ...(modalities.includes('image') ? {} : { images: false }),
    ...(modalities.includes('audio') ? {} : { audio: false }),
  };
}

/**
 * What llama.cpp says of its models in a second list, by their names: `multimodal` is missing in the `capabilities` of those that
 * read text only.
 */
function readTextOnly(answer: unknown): ReadonlyMap<unknown, Lacking> {
  const models = objectsIn(isObject(answer) ? answer.models : undefined);
  const textOnly = models.filter(({ capabilities: has }) => {
    return Array.isArray(has) && has.includes('completion') && !has.includes('multimodal');
  });
  return new Map(textOnly.map(({ name, model }) => [model ?? name, TEXT_ONLY]));
}
