import type { ModelInfo, ModelProviderBase } from './model-provider.js';

/** The provider that serves a model. */
export interface ModelRoute {
  readonly providerName: string;
  readonly provider: ModelProviderBase;
  readonly model: ModelInfo;
}
