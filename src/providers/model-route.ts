import type { ModelInfo, ModelProviderBase } from './model-provider.js';

/** Where a model's turns go. */
export interface ModelRoute {
  readonly providerName: string;
  readonly provider: ModelProviderBase;
  readonly model: ModelInfo;
}
