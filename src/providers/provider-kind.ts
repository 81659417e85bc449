import type { ModelProviderBase } from './model-provider.js';

/** An entry of PROVIDERS_FILE that was checked. */
export interface ProviderEntry {
  /** The name of its kind; `chat-completions` where it says nothing. */
  readonly kind?: string;
  /** Further attempts of a turn at this provider, before the first token. */
  readonly retries?: number;
  /** Whether it serves the names that it lists itself. */
  readonly discover?: boolean;
  /** Request members beyond those of the API that it takes. */
  readonly forward?: readonly string[];
  /** What its kind says. */
  readonly [member: string]: unknown;
}

/** A kind of provider that PROVIDERS_FILE can configure: what an entry may hold, and the provider that it makes. */
export abstract class ProviderKind {
  /** The JSON Schema of each member of an entry, by its name. `kind`, `retries` and `discover` belong to every kind. */
  abstract readonly members: Readonly<Record<string, object>>;

  /** The members that an entry must have. */
  readonly required: readonly string[] = [];

  /** Makes a provider of an entry. `secrets` are the values of the file that no client, log or error may show. */
  abstract create(
    name: string,
    entry: ProviderEntry,
    secrets: readonly string[],
  ): ModelProviderBase | Promise<ModelProviderBase>;

  /** Checks what a schema cannot. Throws an Error whose message begins with the member: `base_url must be …`. */
  check?(entry: ProviderEntry): void;

  /** Values of an entry that no client, log or error may show, beyond those that come from variables: keys and addresses. */
  secretsOf?(entry: ProviderEntry): readonly string[];
}

/** DI token: the kinds that the program adds, a Map by name. */
export const PROVIDER_KINDS = Symbol('provider kinds');
