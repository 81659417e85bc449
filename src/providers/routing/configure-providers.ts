import type { IdGenerator } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { ChatCompletionsProvider } from '../chat-completions/index.js';
import type { Configuration } from './configuration.js';
import type { ModelEntry, ProviderEntry } from './providers-file.js';
import { readProvidersFile } from './read-providers-file.js';
import type { Destination } from './target.js';
import { toProviderOptions } from './to-provider-options.js';

/** Further attempts of a turn at the same upstream, where the file says nothing. */
const DEFAULT_RETRIES = 2;

/** What every provider works with. */
export interface ProviderParts {
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** Makes providers of what a file says. Throws EnvironmentError for one that cannot be used. */
export async function configureProviders(path: string, parts: ProviderParts): Promise<Configuration> {
  const { file, secrets } = await readProvidersFile(path);
  const entries = Object.entries(file.providers ?? {});
  const models = file.models ?? [];
  const named = namedIn(models);
  const providers: ChatCompletionsProvider[] = [];
  const toDestination = (name: string, entry: ProviderEntry): Destination => {
    const provider = new ChatCompletionsProvider(toProviderOptions(name, entry, secrets), parts);
    providers.push(provider);
    const { retries = DEFAULT_RETRIES, discover: isOpen = !named.has(name) } = entry;
    return { provider, retries, isOpen };
  };
  return {
    destinations: new Map(entries.map(([name, entry]) => [name, toDestination(name, entry)])),
    models,
    secrets,
    forwarded: new Set(entries.flatMap(([, { forward = [] }]) => forward)),
    destroy: async () => {
      await Promise.all(providers.map((provider) => provider.destroy()));
    },
  };
}

/** Whose models the file names: of those it is known what they are to serve. */
function namedIn(models: readonly ModelEntry[]): ReadonlySet<string | undefined> {
  return new Set(
    models.flatMap(({ provider, upstreams = [] }) => [provider, ...upstreams.map((upstream) => upstream.provider)]),
  );
}
