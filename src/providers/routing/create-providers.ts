import { EnvironmentError, firstLineOf } from '../../config/index.js';
import type { ModelProviderBase } from '../model-provider.js';
import type { ProviderKind } from '../provider-kind.js';
import { redact } from '../redact.js';
import type { Configuration } from './configuration.js';
import type { ModelEntry, ProvidersFile, UpstreamEntry } from './providers-file.js';
import { kindOf, readProvidersFile } from './read-providers-file.js';
import type { Destination } from './target.js';

/** Default of `attempts`. */
const DEFAULT_ATTEMPTS = 6;

/** Creates the providers of a file. Throws EnvironmentError if it is invalid. */
export async function createProviders(path: string, kinds: ReadonlyMap<string, ProviderKind>): Promise<Configuration> {
  const { file, isBlank, secrets } = await readProvidersFile(path, kinds);
  const entries = Object.entries(file.providers ?? {});
  const routed = file.models ?? [];
  const named = namedIn(routed);
  const models = [...routed, ...embeddingModelsOf(file)];
  const destinations = new Map<string, Destination>();
  for (const [name, entry] of entries) {
    const kind = kindOf(entry, kinds);
    const provider = await create(path, name, secrets, () => kind.create(name, entry, secrets));
    const { retries = kind.retries, discover: isOpen = !named.has(name), tolerates = [], forward = [] } = entry;
    destinations.set(name, {
      ...{ provider, retries, isOpen },
      tolerates: provider.tolerates.union(new Set(tolerates)),
      forwards: new Set(forward),
    });
  }
  return {
    isBlank,
    destinations,
    models,
    attempts: file.attempts ?? DEFAULT_ATTEMPTS,
    secrets,
    prices: new Map(entries.flatMap(([name, { prices }]) => (prices === undefined ? [] : [[name, prices] as const]))),
    forwarded: new Set(entries.flatMap(([, { forward = [] }]) => forward)),
    retire: () => {
      for (const { provider } of destinations.values()) provider.retire?.();
    },
    destroy: async () => {
      await Promise.all([...destinations.values()].map(async ({ provider }) => provider.destroy?.()));
    },
  };
}

/** Throws EnvironmentError, without the secrets of the file, for what a kind throws. */
async function create(
  path: string,
  name: string,
  secrets: readonly string[],
  make: () => ModelProviderBase | Promise<ModelProviderBase>,
): Promise<ModelProviderBase> {
  try {
    return await make();
  } catch (error) {
    const reason = redact(firstLineOf(error), secrets);
    throw new EnvironmentError([`PROVIDERS_FILE: ${path}: providers.${name}: ${reason}.`]);
  }
}

/** Entries for the names in `embeddings.models` that `models` does not have; who lists the same name serves it together. */
function embeddingModelsOf({ providers = {}, models = [] }: ProvidersFile): readonly ModelEntry[] {
  const upstreams = new Map<string, UpstreamEntry[]>();
  for (const [provider, { embeddings }] of Object.entries(providers)) {
    for (const name of embeddings?.models ?? []) upstreams.set(name, [...(upstreams.get(name) ?? []), { provider }]);
  }
  const known = new Set(models.map(({ name }) => name));
  return [...upstreams].filter(([name]) => !known.has(name)).map(([name, of]) => ({ name, upstreams: of }));
}

/** Providers that entries of `models` name. Their own model lists are not served by default. */
function namedIn(models: readonly ModelEntry[]): ReadonlySet<string | undefined> {
  return new Set(
    models.flatMap(({ provider, upstreams = [] }) => [provider, ...upstreams.map((upstream) => upstream.provider)]),
  );
}
