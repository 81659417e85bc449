import { DiscoveryService } from '@nestjs/core';

import type { Item } from '../protocol/index.js';
import type { EmbeddingRequest, Embeddings } from './embedding.js';
import type { ModelEvent } from './model-event.js';
import type { ModelSink } from './model-sink.js';
import { type CountOptions, countItemTokens, countSettingsTokens } from './tokens/index.js';
import type { Turn } from './turn.js';

/** A model of a provider. */
export interface ModelInfo {
  readonly id: string;
  /** `owned_by` in `GET /v1/models`. */
  readonly ownedBy: string;
  /** Unix seconds. */
  readonly created: number;
  /** Limit of input and output together, tokens. */
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  /** Supported reasoning efforts; empty if the model does not reason, absent if unknown. */
  readonly reasoningEfforts?: readonly string[];
  /** The effort of a turn that asks for none; absent if unknown. Responses show it. */
  readonly defaultReasoningEffort?: string;
  /** Whether its responses can be steered; absent for `ModelProviderBase.isSteerable`. */
  readonly steerable?: boolean;
}

/**
 * Registers a class as a model provider under a name:
 *
 *     @ModelProvider('acme')
 *     export class AcmeProvider extends ModelProviderBase { … }
 */
export const ModelProvider = DiscoveryService.createDecorator<string>();

/** DI token: the providers passed in `providers`, in order. */
export const PROVIDERS = 'antiphon: providers';

/** DI token: request headers that are forwarded to every provider, in lower case. */
export const FORWARDED_HEADERS = 'antiphon: forwarded headers';

/** Most inputs of one request for embeddings where nothing else is said: small enough for most servers. */
export const DEFAULT_EMBEDDING_BATCH = 128;

/**
 * The rules of OpenAI that a provider may lift for its models (docs/providers.md#rules-that-do-not-apply):
 *
 * - `images`, `files`: a part has a source, which is a URL, an id or valid base64
 * - `required_tools`: `tool_choice: "required"` needs tools
 * - `strict_schemas`: a schema with `strict: true` keeps to the subset of Structured Outputs
 * - `json_object`: the input asks for JSON if `text.format` is `json_object`
 */
export const TOLERATED_RULES = ['images', 'files', 'required_tools', 'strict_schemas', 'json_object'] as const;

/** One of TOLERATED_RULES. */
export type ToleratedRule = (typeof TOLERATED_RULES)[number];

/** Every rule applies. */
export const NO_RULES: ReadonlySet<ToleratedRule> = new Set();

/** Base class of providers. A faulty provider fails its own turns but cannot violate the stream protocol. */
export abstract class ModelProviderBase {
  /** Whether its own model names are served only without a PROVIDERS_FILE. Entries of the file may still name the provider. */
  readonly isFallback: boolean = false;

  /**
   * Whether clients can steer the responses of its models: a text may be cut off at any place, and the model goes on from
   * there with further input (protocol §6.8). What the list says of a model counts more.
   */
  readonly isSteerable: boolean = false;

  /** Whether RECORD_FILE records its answers. False for synthetic and replayed answers. */
  readonly isRecorded: boolean = true;

  /**
   * Whether its upstream compacts contexts: `context_management` and `compaction_trigger` items are left to it. Otherwise the
   * service compacts them, with summaries of the model.
   */
  readonly compactsContexts: boolean = false;

  /**
   * Types of hosted tools that the provider runs, such as `web_search`, exactly as requests name them. Other types are left out unless the
   * service runs them; a request that demands one is refused, and with HOSTED_TOOLS=reject each that has one. `all`: the provider gets
   * every request, and decides itself.
   */
  readonly hostedTools: readonly string[] | 'all' = 'all';

  /**
   * Whether its upstream counts with the tokenizer of the model, at little cost. Turns with `truncation: "auto"` or a compaction threshold
   * ask it once, with `exact`, when their context may be too long; those of others are estimated.
   */
  readonly hasTokenizer: boolean = false;

  /**
   * Whether it takes compactions and reasoning that another Antiphon has sealed, and applies `reasoning.context` itself, as an upstream
   * with the Responses API does. For others such a compaction is refused, and such reasoning left out. Reasoning that a provider has
   * encrypted itself is always given back to it.
   */
  readonly readsForeignSeals: boolean = false;

  /**
   * Whether it is given the opaque data of `reasoning_encrypted` back, in the member `opaque` of reasoning items. That of other
   * providers is among it: it must know its own.
   */
  readonly takesOpaqueData: boolean = false;

  /**
   * Whether it takes `input_file` parts with data. Otherwise the service turns files into text, and hands on no file that has none.
   */
  readonly takesFiles: boolean = true;

  /** Whether it takes `input_file` parts with a `file_url`, if it takes files. Otherwise the service fetches them. */
  readonly takesFileUrls: boolean = true;

  /** Most inputs of one call of `embed`. */
  readonly embeddingBatch: number = DEFAULT_EMBEDDING_BATCH;

  /** Request headers to pass in `Turn.headers`, in lower case. Read once, at start. */
  readonly requestHeaders: readonly string[] = [];

  /**
   * The rules of OpenAI that requests for its models may break: the provider takes what they forbid. Requests for a name with
   * several providers may break what all of them tolerate. Read once, at start.
   */
  readonly tolerates: ReadonlySet<ToleratedRule> = NO_RULES;

  /** Lists the models. Called at start and for `GET /v1/models`. */
  abstract models(): Promise<readonly ModelInfo[]>;

  /**
   * Answers a turn. Batches (arrays) are cheaper than single events. An error before the first yield becomes an HTTP error; after
   * it, the response fails. `signal` aborts when the turn is stopped; the provider must stop at once.
   */
  abstract generate(
    turn: Turn,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ModelEvent | readonly ModelEvent[]>;

  /**
   * Answers a turn by writing into a sink, which can be cheaper than a generator. Called instead of `generate`, unless a subclass
   * overrides only `generate`. Resolves when everything is written. A rejection before the first batch becomes an HTTP error;
   * after it, the response fails.
   */
  push?(turn: Turn, sink: ModelSink): Promise<void>;

  /**
   * Gives the vectors of texts. Without it none of its models does. Rejects with ModelError; `signal` aborts when the client has left.
   */
  embed?(request: EmbeddingRequest, options: { readonly signal: AbortSignal }): Promise<Embeddings>;

  /**
   * Finds a model beyond `models()`, for example by a pattern; undefined if it is not served. `alone` is true if no other
   * provider is registered.
   */
  find(_model: string, _among: { readonly alone: boolean }): ModelInfo | undefined {
    return undefined;
  }

  /** Whether a model sees images: it is given the pages of scans in files that it does not take, and the images in results of MCP tools. */
  seesImages(_model: string): boolean {
    return true;
  }

  /** Releases resources such as connections. Called at shutdown for the providers of the current PROVIDERS_FILE. */
  destroy?(): Promise<void>;

  /**
   * Releases what is idle, now and from now on. Called when another PROVIDERS_FILE has replaced that of the provider; its turns go
   * on.
   */
  retire?(): void;

  /**
   * What it has counted since it was created, such as reconnections and dropped events; shown in `/readyz?verbose`. The names say
   * what; they must not contain anything of a request.
   */
  statistics?(): Readonly<Record<string, number>>;

  /**
   * Input tokens of a turn. The default counts with o200k_base. A count beyond `limit` may stop; one that is aborted should, and
   * rejects. With `exact` a provider whose upstream can count asks it, and may reject with a ModelError of the upstream.
   */
  async countTokens(turn: Turn, { signal, limit = Infinity }: CountOptions = {}): Promise<number> {
    const settings = await countSettingsTokens(turn.settings, { signal, limit });
    if (settings > limit) return settings;
    return settings + (await this.countContextTokens(turn.context, { signal, limit: limit - settings }));
  }

  /** Tokens of some items of a transcript, counted as by `countTokens`. Used for truncation. */
  async countContextTokens(items: readonly Item[], options?: CountOptions): Promise<number> {
    return countItemTokens(items, options);
  }

  /** Tokens of the output, used if the provider reports no usage. */
  async countOutputTokens(output: readonly Item[], options?: CountOptions): Promise<number> {
    return countItemTokens(output, options);
  }
}

/** The provider that serves a model. */
export interface ModelRoute {
  readonly providerName: string;
  readonly provider: ModelProviderBase;
  readonly model: ModelInfo;
}
