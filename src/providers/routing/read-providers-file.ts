import { readFile } from 'node:fs/promises';

import {
  EnvironmentError,
  faultsOf,
  firstLineOf,
  parseSecretFile,
  requireSchema,
  resolveReferences,
} from '../../config/index.js';
import type { ProviderEntry, ProviderKind } from '../provider-kind.js';
import { redact, SHORTEST_SECRET } from '../redact.js';
import { DEFAULT_KIND, type ProvidersFile, providersSchema } from './providers-file.js';

/** A valid file, and its values to redact. */
export interface ReadFile {
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
export function kindOf({ kind = DEFAULT_KIND }: ProviderEntry, kinds: ReadonlyMap<string, ProviderKind>): ProviderKind {
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
