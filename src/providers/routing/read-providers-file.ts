import { readFile } from 'node:fs/promises';
import { validateHeaderName, validateHeaderValue } from 'node:http';

import { EnvironmentError, firstLineOf, parseDataFile, requireSchema } from '../../config/index.js';
import { RESERVED_NAMES } from '../chat-completions/index.js';
import { resolveReferences } from './environment-references.js';
import { PROVIDERS_SCHEMA, type ProvidersFile } from './providers-file.js';

/** Shorter values would turn up in ordinary text. */
const SHORTEST_SECRET = 8;

/** A file that can be used, and what in it must never be seen. */
export interface ReadFile {
  readonly file: ProvidersFile;
  readonly secrets: readonly string[];
}

/** Reads and checks the file. Throws EnvironmentError; what the file says is never quoted, for there are keys in it. */
export async function readProvidersFile(path: string): Promise<ReadFile> {
  try {
    const parsed = await parseDataFile(path, await readFile(path, 'utf8'));
    const { value, substitutes } = resolveReferences(parsed, process.env);
    const file = await requireSchema<ProvidersFile>(value ?? {}, PROVIDERS_SCHEMA);
    checkProviders(file);
    checkModels(file);
    const headers = Object.values(file.providers ?? {}).flatMap((entry) => Object.values(entry.headers ?? {}));
    const secrets = [...substitutes, ...headers].filter(({ length }) => length >= SHORTEST_SECRET);
    return { file, secrets };
  } catch (error) {
    throw new EnvironmentError([`PROVIDERS_FILE: ${path}: ${firstLineOf(error)}.`]);
  }
}

function checkProviders({ providers = {} }: ProvidersFile): void {
  for (const [name, { base_url: url, api_key: key, headers = {}, forward = [] }] of Object.entries(providers)) {
    const place = `providers.${name}`;
    if (!URL.canParse(url)) throw new Error(`${place}.base_url must be an http or https URL`);
    for (const header of Object.keys(headers)) requireHeader(`${place}.headers.${header}`, header, headers[header]);
    if (key !== undefined) requireHeader(`${place}.api_key`, 'authorization', `Bearer ${key}`);
    const reserved = forward.findIndex((member) => RESERVED_NAMES.has(member));
    if (reserved !== -1) throw new Error(`${place}.forward[${reserved}] is a reserved name (${forward[reserved]})`);
  }
}

function requireHeader(place: string, name: string, value = ''): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new Error(`${place} cannot be sent as a header`);
  }
}

function checkModels({ models = [] }: ProvidersFile): void {
  const names = models.map(({ name }) => name);
  for (const [index, { name, alias }] of models.entries()) {
    const place = `models[${index}]`;
    if (name !== undefined && names.indexOf(name) !== index)
      throw new Error(`${place}.name is there already (${name})`);
    if (alias === undefined) continue;
    const target = models.find((entry) => entry.name === alias);
    if (target === undefined) throw new Error(`${place}.alias must be the name of another entry (${alias})`);
    if (target.alias !== undefined) throw new Error(`${place}.alias must not be an alias itself (${alias})`);
  }
  if (models.filter((entry) => entry.default === true).length > 1) throw new Error('models has more than one default');
}
