import { Inject, Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { PROVIDER_KINDS, type ProviderKind } from '../provider-kind.js';
import type { Configuration } from './configuration.js';
import { DEFAULT_KIND } from './providers-file.js';

/** Creates the providers of PROVIDERS_FILE. */
@Injectable()
export class ConfiguredProviders {
  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
    @Inject(PROVIDER_KINDS) private readonly kinds: ReadonlyMap<string, ProviderKind>,
  ) {}

  /** Null without a file. Throws EnvironmentError if it is invalid. */
  async read(): Promise<Configuration | null> {
    const { PROVIDERS_FILE: path } = this.environment;
    if (path === '') return null;
    // Loaded on demand: the HTTP client consists of about a hundred files.
    const [{ configureProviders }, { ChatCompletionsKind }] = await Promise.all([
      import('./configure-providers.js'),
      import('./chat-completions-kind.js'),
    ]);
    const { clock, ids } = this;
    return configureProviders(
      path,
      new Map<string, ProviderKind>([[DEFAULT_KIND, new ChatCompletionsKind({ clock, ids })], ...this.kinds]),
    );
  }
}
