import type { ModelProviderBase } from '../model-provider.js';

/** A provider that names may go to. */
export interface Destination {
  readonly provider: ModelProviderBase;
  /** Further attempts of a turn here, before the first token. */
  readonly retries: number;
  /** Whether it serves the names that it lists itself. */
  readonly isOpen: boolean;
}

/** One place where the turns of a name may go. */
export interface Target extends Destination {
  readonly providerName: string;
  /** The name of the model there, by the name that was asked for. */
  readonly toModel: (name: string) => string;
  readonly weight: number;
}
