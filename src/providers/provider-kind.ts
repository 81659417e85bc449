import type { ModelProviderBase, ToleratedRule } from './model-provider.js';

/** What an entry says of embeddings. */
export interface EmbeddingsEntry {
  /** Models of its server that give embeddings; their names are served. */
  readonly models?: readonly string[];
  /** Most inputs of one request. */
  readonly batch?: number;
}

/** What a model costs, per million tokens. */
export interface Price {
  readonly input: number;
  /** Of the input that an upstream had in its cache. Default: that of other input. */
  readonly cached_input?: number;
  readonly output: number;
}

/** A validated entry of PROVIDERS_FILE. */
export interface ProviderEntry {
  /** Name of its kind. Default: `chat-completions`. */
  readonly kind?: string;
  /** Retries of a turn at this provider, before the first token. */
  readonly retries?: number;
  /** Whether the model names that the provider lists are served. */
  readonly discover?: boolean;
  /** Rules that do not apply to its models, besides those that its class tolerates. */
  readonly tolerates?: readonly ToleratedRule[];
  /** Additional request members that are forwarded. */
  readonly forward?: readonly string[];
  readonly embeddings?: EmbeddingsEntry;
  /** What its models cost, by a glob of their names at the upstream; the first that matches counts. */
  readonly prices?: Readonly<Record<string, Price>>;
  /** Members of its kind. */
  readonly [member: string]: unknown;
}

/** A kind of provider that PROVIDERS_FILE can configure: the schema of its entries, and a factory. */
export abstract class ProviderKind {
  /** JSON Schemas of the members of an entry, by name. Every kind also has `kind`, `retries`, `discover`, `tolerates` and `prices`. */
  abstract readonly members: Readonly<Record<string, object>>;

  /** Required members. */
  readonly required: readonly string[] = [];

  /** Default of `retries` of its entries; 0 for providers that retry themselves. */
  readonly retries: number = 2;

  /** Creates the provider of an entry. `secrets` are values of the file to redact from errors and logs. */
  abstract create(
    name: string,
    entry: ProviderEntry,
    secrets: readonly string[],
  ): ModelProviderBase | Promise<ModelProviderBase>;

  /** Checks beyond the schema. Throws an Error whose message begins with the member: `base_url must be …`. */
  check?(entry: ProviderEntry): void;

  /** Values of an entry to redact, such as keys and addresses. Values from environment variables are redacted anyway. */
  secretsOf?(entry: ProviderEntry): readonly string[];
}

/** DI token: additional kinds, a Map by name. */
export const PROVIDER_KINDS = 'antiphon: provider kinds';
