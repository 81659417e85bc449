import { readFile } from 'node:fs/promises';

import {
  EnvironmentError,
  faultsOf,
  firstLineOf,
  parseSecretFile,
  requireSchema,
  resolveReferences,
} from '../../config/index.js';
import type { ModelProviderBase } from '../model-provider.js';
import type { Price, ProviderEntry, ProviderKind } from '../provider-kind.js';
import { redact, SHORTEST_SECRET } from '../redact.js';
import {
  DEFAULT_KIND,
  type ModelEntry,
  type ProvidersFile,
  providersSchema,
  type UpstreamEntry,
} from './providers-file.js';
import type { Destination } from './target.js';

/** The providers and models of PROVIDERS_FILE. */
export interface Configuration {
  /** Whether the file has no content: no text, or only comments. */
  readonly isBlank: boolean;
  readonly destinations: ReadonlyMap<string, Destination>;
  readonly models: readonly ModelEntry[];
  /** Requests to upstreams for one turn, over all upstreams and their retries. */
  readonly attempts: number;
  /** Values to redact from errors, logs and recordings. */
  readonly secrets: readonly string[];
  /** What models cost, by the names of providers and globs of the names of models at their upstreams. */
  readonly prices: ReadonlyMap<string, Readonly<Record<string, Price>>>;
  /** Additional request members that any provider forwards. */
  readonly forwarded: ReadonlySet<string>;
  /** Another file has replaced this one. */
  retire(): void;
  /** Closes all connections. */
  destroy(): Promise<void>;
}

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

/** A valid file, and its values to redact. */
interface ReadFile {
  readonly file: ProvidersFile;
  /** Whether there is no content. */
  readonly isBlank: boolean;
  readonly secrets: readonly string[];
}

/** Reads and validates the file. Throws EnvironmentError without quoting the file, which contains keys. */
export async function readProvidersFile(path: string, kinds: ReadonlyMap<string, ProviderKind>): Promise<ReadFile> {
  const refuse = (faults: readonly string[]): EnvironmentError =>
    new EnvironmentError(faults.map((fault) => `PROVIDERS_FILE: ${path}: ${fault}.`));
  try {
    const content = await parseSecretFile(path, await readFile(path, 'utf8'));
    const { value, substitutes, unset } = resolveReferences(content, process.env);
    if (unset.length > 0) throw refuse(unset);
    const schema = providersSchema(value, kinds);
    const file = requireSchema<ProvidersFile>(value ?? {}, schema, { isSecret: true });
    const entries = Object.entries(file.providers ?? {}).map(
      ([name, entry]) => [name, entry, kindOf(entry, kinds)] as const,
    );
    const faults = [
      ...entries.flatMap(([name, entry, kind]) => faultOfEntry(name, entry, kind, substitutes) ?? []),
      ...faultsOfModels(file),
    ];
    if (faults.length > 0) throw refuse(faults);
    const own = entries.flatMap(([, entry, kind]) => kind.secretsOf?.(entry) ?? []);
    return { file, isBlank: value == null, secrets: [...substitutes, ...own].filter(isSecret) };
  } catch (error) {
    throw error instanceof EnvironmentError ? error : refuse(faultsOf(error));
  }
}

/** The kind of a validated entry. */
function kindOf({ kind = DEFAULT_KIND }: ProviderEntry, kinds: ReadonlyMap<string, ProviderKind>): ProviderKind {
  const found = kinds.get(kind);
  if (found === undefined) throw new Error(`unknown provider kind '${kind}'`);
  return found;
}

function faultOfEntry(
  name: string,
  entry: ProviderEntry,
  kind: ProviderKind,
  substitutes: readonly string[],
): string | undefined {
  try {
    kind.check?.(entry);
    return undefined;
  } catch (error) {
    const secrets = [...substitutes, ...secretsOfInvalid(entry, kind)].filter(isSecret);
    return `providers.${name}.${redact(firstLineOf(error), secrets)}`;
  }
}

/** The secrets of an entry that did not pass: its kind may fail to read it, and then any text may be one. */
function secretsOfInvalid(entry: ProviderEntry, kind: ProviderKind): readonly string[] {
  try {
    return kind.secretsOf?.(entry) ?? [];
  } catch {
    return Object.values(entry).filter((value) => typeof value === 'string');
  }
}

function faultsOfModels({ models = [] }: ProvidersFile): readonly string[] {
  const names = models.map(({ name }) => name);
  const faults = models.flatMap(({ name, alias }, index) => {
    const place = `models[${index}]`;
    if (name !== undefined && names.indexOf(name) !== index) return `${place}.name is a duplicate`;
    if (alias === undefined) return [];
    const target = models.find((entry) => entry.name === alias);
    if (target === undefined) return `${place}.alias must be the name of another entry`;
    return target.alias === undefined ? [] : `${place}.alias must not be an alias itself`;
  });
  const defaults = models.filter((entry) => entry.default === true);
  return defaults.length > 1 ? [...faults, 'models has more than one default'] : faults;
}

/** Shorter texts are parts of many others. */
function isSecret({ length }: string): boolean {
  return length >= SHORTEST_SECRET;
}
