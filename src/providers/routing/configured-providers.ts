import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { ChatCompletionsProvider } from '../chat-completions/index.js';
import type { ModelEntry, ProviderEntry } from './providers-file.js';
import { readProvidersFile } from './read-providers-file.js';
import type { Destination } from './target.js';
import { toProviderOptions } from './to-provider-options.js';

/** Further attempts of a turn at the same upstream, where the file says nothing. */
const DEFAULT_RETRIES = 2;

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
    const { file, secrets } = await readProvidersFile(path);
    const entries = Object.entries(file.providers ?? {});
    const named = namedIn(file.models ?? []);
    const providers = entries.map(([name, entry]) => this.create(name, entry, secrets));
    return {
      destinations: new Map(
        entries.map(([name, { retries = DEFAULT_RETRIES, discover: isOpen = !named.has(name) }], index) => {
          const provider = providers[index];
          if (provider === undefined) throw new Error(`there is no provider ${name}`);
          return [name, { provider, retries, isOpen }];
        }),
      ),
      models: file.models ?? [],
      secrets,
      forwarded: new Set(entries.flatMap(([, { forward = [] }]) => forward)),
      destroy: async () => {
        await Promise.all(providers.map((provider) => provider.destroy()));
      },
    };
  }

  private create(name: string, entry: ProviderEntry, secrets: readonly string[]): ChatCompletionsProvider {
    return new ChatCompletionsProvider(toProviderOptions(name, entry, secrets), { clock: this.clock, ids: this.ids });
  }
}

/** Whose models the file names: of those it is known what they are to serve. */
function namedIn(models: readonly ModelEntry[]): ReadonlySet<string | undefined> {
  return new Set(
    models.flatMap(({ provider, upstreams = [] }) => [provider, ...upstreams.map((upstream) => upstream.provider)]),
  );
}
