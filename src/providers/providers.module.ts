import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { ProviderRegistry } from './provider-registry.js';
import { Recorder } from './recording/index.js';
import { ConfiguredProviders, Random, SystemRandom } from './routing/index.js';

/** Provides the registry of providers, which discovers them in all modules. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [Recorder, ConfiguredProviders, ProviderRegistry, { provide: Random, useClass: SystemRandom }],
  exports: [ProviderRegistry],
})
export class ProvidersModule {}
