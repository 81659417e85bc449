import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import type { Configuration } from './configuration.js';

/** Makes providers of what PROVIDERS_FILE says. */
@Injectable()
export class ConfiguredProviders {
  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
  ) {}

  /** Null without a file. Throws EnvironmentError for one that cannot be used. */
  async read(): Promise<Configuration | null> {
    const { PROVIDERS_FILE: path } = this.environment;
    if (path === '') return null;
    // Loaded when it is needed: the client of upstream servers is a hundred files.
    const { configureProviders } = await import('./configure-providers.js');
    return configureProviders(path, { clock: this.clock, ids: this.ids });
  }
}
