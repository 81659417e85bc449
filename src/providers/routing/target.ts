import type { ModelProviderBase, ToleratedRule } from '../model-provider.js';

/** A provider that model names can be routed to. */
export interface Destination {
  readonly provider: ModelProviderBase;
  /** Retries of a turn, before the first token. */
  readonly retries: number;
  /** Whether the model names that the provider lists are served. */
  readonly isOpen: boolean;
  /** Rules that do not apply to its models. */
  readonly tolerates: ReadonlySet<ToleratedRule>;
  /** Request members beyond those of the API that it passes on. */
  readonly forwards: ReadonlySet<string>;
}

/** A provider that can answer the turns of a model name. */
export interface Target extends Destination {
  readonly providerName: string;
  /** Translates the requested name into the provider's name of the model. */
  readonly toModel: (name: string) => string;
  readonly weight: number;
}
