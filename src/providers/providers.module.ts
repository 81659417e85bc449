import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import type { ModelProviderBase } from './model-provider.js';
import { ProviderRegistry } from './provider-registry.js';
import { Recorder } from './recording/index.js';
import { ConfiguredProviders, Random, SystemRandom } from './routing/index.js';

/** The providers of models, and the registry that finds them wherever they are. */
@Module({})
export class ProvidersModule {
  /** `providers` are classes marked `@ModelProvider`; others may be provided by any module of the application. */
  static with(
    providers: readonly Type<ModelProviderBase>[],
    imports: NonNullable<DynamicModule['imports']> = [],
  ): DynamicModule {
    return {
      module: ProvidersModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        Recorder,
        ConfiguredProviders,
        ProviderRegistry,
        { provide: Random, useClass: SystemRandom },
        ...providers,
      ],
      exports: [ProviderRegistry],
    };
  }
}
