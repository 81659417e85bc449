import { DiscoveryService } from '@nestjs/core';

import type { Item } from '../protocol/index.js';
import type { ModelEvent } from './model-event.js';
import type { ModelSink } from './model-sink.js';
import { countItemTokens, countSettingsTokens } from './tokens/index.js';
import type { Turn } from './turn.js';

/** What a provider tells about one of its models. */
export interface ModelInfo {
  readonly id: string;
  /** Who runs it, as `GET /v1/models` shows it. */
  readonly ownedBy: string;
  /** Unix seconds. */
  readonly created: number;
  /** Input and output together, in tokens. */
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  /** The efforts the model takes; empty where it does not reason, absent where the provider leaves it open. */
  readonly reasoningEfforts?: readonly string[];
}

/**
 * Marks a class as a provider of models under a name of its own:
 *
 *     @ModelProvider('acme')
 *     export class AcmeProvider extends ModelProviderBase { … }
 */
export const ModelProvider = DiscoveryService.createDecorator<string>();

/** DI token: the providers that the program gave, in their order. */
export const PROVIDERS = Symbol('providers');

/** DI token: request headers that every provider gets, in lower case. */
export const FORWARDED_HEADERS = Symbol('forwarded headers');

/** The contract of every provider. A wrong one can fail its own turns; it cannot break the rules of a stream. */
export abstract class ModelProviderBase {
  /** Whether it serves names of its own only where there is no PROVIDERS_FILE; names of the file may go to it all the same. */
  readonly isFallback: boolean = false;

  /** Whether RECORD_FILE keeps what it answers: not where that is made up or replayed. */
  readonly isRecorded: boolean = true;

  /** Request headers that it reads, in lower case; turns have them in their `headers`. Read once, at start. */
  readonly requestHeaders: readonly string[] = [];

  /** The models this provider has. Asked at start and for `GET /v1/models`. */
  abstract models(): Promise<readonly ModelInfo[]>;

  /**
   * Answers a turn. Batches (arrays) are cheaper than single events. What is thrown before the first yield is refused as an
   * HTTP error; after it, the response fails. `signal` aborts when nobody wants the answer any more: stop at once.
   */
  abstract generate(
    turn: Turn,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ModelEvent | readonly ModelEvent[]>;

  /**
   * Answers a turn by writing into a sink, where that is cheaper than a generator: it is asked instead of `generate`, unless a
   * subclass overrides `generate` alone. Resolves when it has written everything. What it rejects with before the first
   * batch is refused as an HTTP error; after it, the response fails.
   */
  push?(turn: Turn, sink: ModelSink): Promise<void>;

  /**
   * For names beyond `models()`, such as patterns: what is known of the model, or undefined if it is not served. `alone`
   * says that no other provider is there to serve it.
   */
  find(_model: string, _among: { readonly alone: boolean }): ModelInfo | undefined {
    return undefined;
  }

  /** Lets go of what it holds, such as connections. Called for a provider of PROVIDERS_FILE that is no longer used. */
  destroy?(): Promise<void>;

  /** Tokens of everything the model will read in this turn. The default counts as o200k_base. */
  async countTokens(turn: Turn): Promise<number> {
    return (await countSettingsTokens(turn.settings)) + (await this.countContextTokens(turn.context));
  }

  /** Tokens of a part of a transcript, as `countTokens` counts it: what is gained by leaving it out. */
  async countContextTokens(items: readonly Item[]): Promise<number> {
    return countItemTokens(items);
  }

  /** Tokens of what the model wrote, used where the provider reports no usage. */
  async countOutputTokens(output: readonly Item[]): Promise<number> {
    return countItemTokens(output);
  }
}
