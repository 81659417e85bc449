import { readFile } from 'node:fs/promises';

import { EnvironmentError, firstLineOf, parseDataFile, REFERENCE, requireSchema } from '../../config/index.js';
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
  try {
    const { value, substitutes } = resolveReferences(await parse(path, await readFile(path, 'utf8')), process.env);
    const schema = providersSchema(value, kinds);
    const file = await requireSchema<ProvidersFile>(value ?? {}, schema, { isSecret: true });
    const own: string[] = [];
    for (const [name, entry] of Object.entries(file.providers ?? {})) {
      const kind = kindOf(entry, kinds);
      checkEntry(name, entry, kind, substitutes);
      own.push(...(kind.secretsOf?.(entry) ?? []));
    }
    checkModels(file);
    const secrets = [...substitutes, ...own].filter(isSecret);
    return { file, isBlank: value == null, secrets };
  } catch (error) {
    throw new EnvironmentError([`PROVIDERS_FILE: ${path}: ${firstLineOf(error)}.`]);
  }
}

/** The kind of a validated entry. */
export function kindOf({ kind = DEFAULT_KIND }: ProviderEntry, kinds: ReadonlyMap<string, ProviderKind>): ProviderKind {
  const found = kinds.get(kind);
  if (found === undefined) throw new Error(`unknown provider kind '${kind}'`);
  return found;
}

async function parse(path: string, content: string): Promise<unknown> {
  try {
    return await parseDataFile(path, content);
  } catch (error) {
    // The parser's message quotes the file.
    const [start] =
      (error as { readonly linePos?: readonly { readonly line: number; readonly col: number }[] }).linePos ?? [];
    const place = start === undefined ? '' : `, at line ${start.line}, column ${start.col}`;
    throw new Error(`the file is neither YAML nor JSON${place}`);
  }
}

function checkEntry(name: string, entry: ProviderEntry, kind: ProviderKind, substitutes: readonly string[]): void {
  try {
    kind.check?.(entry);
  } catch (error) {
    const secrets = [...substitutes, ...secretsOfInvalid(entry, kind)].filter(isSecret);
    throw new Error(`providers.${name}.${redact(firstLineOf(error), secrets)}`);
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

function checkModels({ models = [] }: ProvidersFile): void {
  const names = models.map(({ name }) => name);
  for (const [index, { name, alias }] of models.entries()) {
    const place = `models[${index}]`;
    if (name !== undefined && names.indexOf(name) !== index) throw new Error(`${place}.name is a duplicate`);
    if (alias === undefined) continue;
    const target = models.find((entry) => entry.name === alias);
    if (target === undefined) throw new Error(`${place}.alias must be the name of another entry`);
    if (target.alias !== undefined) throw new Error(`${place}.alias must not be an alias itself`);
  }
  if (models.filter((entry) => entry.default === true).length > 1) throw new Error('models has more than one default');
}

/** Shorter texts are parts of many others. */
function isSecret({ length }: string): boolean {
  return length >= SHORTEST_SECRET;
}

/** A value with resolved references, and the substituted values. */
interface Resolved {
  readonly value: unknown;
  readonly substitutes: readonly string[];
}

/**
 * Replaces `${NAME}` in all strings of a value with environment variables; `$$` is a dollar sign. Throws an Error that names the
 * location of a reference to an unset variable.
 */
function resolveReferences(value: unknown, variables: Readonly<Record<string, string | undefined>>): Resolved {
  const substitutes: string[] = [];
  const resolve = (part: unknown, place: string): unknown => {
    if (typeof part === 'string') {
      return part.replaceAll(REFERENCE, (match, name: string | undefined) => {
        if (name === undefined) return '$';
        const substitute = variables[name] ?? '';
        if (substitute === '') throw new Error(`${place} refers to ${name}, which is not set`);
        substitutes.push(substitute);
        return substitute;
      });
    }
    if (Array.isArray(part)) return part.map((entry, index) => resolve(entry, `${place}[${index}]`));
    if (typeof part !== 'object' || part === null) return part;
    const under = place === '' ? '' : `${place}.`;
    return Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, resolve(entry, under + name)]));
  };
  return { value: resolve(value, ''), substitutes };
}
