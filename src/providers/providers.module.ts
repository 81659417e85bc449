import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { HostedTools } from './hosted-tools.js';
import { ProviderRegistry } from './provider-registry.js';
import { Recorder } from './recording/recorder.js';
import { ConfiguredProviders, Random, SystemRandom } from './routing/index.js';

/** Provides the registry of providers, which discovers them in all modules. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [
    Recorder,
    ConfiguredProviders,
    HostedTools,
    ProviderRegistry,
    { provide: Random, useClass: SystemRandom },
  ],
  exports: [HostedTools, ProviderRegistry, Recorder],
})
export class ProvidersModule {}
