import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import type { ModelEntry } from './providers-file.js';
import type { Destination } from './target.js';

/** What the file configures. */
export interface Configuration {
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly models: readonly ModelEntry[];
  /** What no client, log or recording may see. */
  readonly secrets: readonly string[];
  /** Request members that any of the providers takes. */
  readonly forwarded: ReadonlySet<string>;
  /** Hangs up on everything. */
  destroy(): Promise<void>;
}

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
