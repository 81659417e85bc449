import { readFile } from 'node:fs/promises';
import { validateHeaderName, validateHeaderValue } from 'node:http';

import { EnvironmentError, firstLineOf, parseDataFile, requireSchema } from '../../config/index.js';
import { RESERVED_NAMES } from '../chat-completions/index.js';
import { SHORTEST_SECRET } from '../redact.js';
import { resolveReferences } from './environment-references.js';
import { type ProviderEntry, PROVIDERS_SCHEMA, type ProvidersFile } from './providers-file.js';

/** Without these there is no request. */
const VITAL: ReadonlySet<string> = new Set(['model', 'messages', 'stream']);

/** What the HTTP client says itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** A file that can be used, and what in it must never be seen. */
export interface ReadFile {
  readonly file: ProvidersFile;
  readonly secrets: readonly string[];
}

/** Reads and checks the file. Throws EnvironmentError; what the file says is never quoted, for there are keys in it. */
export async function readProvidersFile(path: string): Promise<ReadFile> {
  try {
    const { value, substitutes } = resolveReferences(await parse(path, await readFile(path, 'utf8')), process.env);
    const file = await requireSchema<ProvidersFile>(value ?? {}, PROVIDERS_SCHEMA, { isSecret: true });
    checkProviders(file);
    checkModels(file);
    const secrets = [...substitutes, ...Object.values(file.providers ?? {}).flatMap(secretsOf)].filter(
      ({ length }) => length >= SHORTEST_SECRET,
    );
    return { file, secrets };
  } catch (error) {
    throw new EnvironmentError([`PROVIDERS_FILE: ${path}: ${firstLineOf(error)}.`]);
  }
}

/** What is sent to a provider that was checked, and where it is. An authorization is quoted with and without its scheme. */
function secretsOf({ base_url: url, api_key: key = '', headers = {}, query = {} }: ProviderEntry): readonly string[] {
  const { host, hostname, searchParams } = new URL(url);
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ')]);
  return [key, ...values, ...Object.values(query), ...searchParams.values(), host, hostname];
}

async function parse(path: string, content: string): Promise<unknown> {
  try {
    return await parseDataFile(path, content);
  } catch (error) {
    // The parser's own words quote the file.
    const [start] =
      (error as { readonly linePos?: readonly { readonly line: number; readonly col: number }[] }).linePos ?? [];
    const place = start === undefined ? '' : `, at line ${start.line}, column ${start.col}`;
    throw new Error(`the file is neither YAML nor JSON${place}`);
  }
}

function checkProviders({ providers = {} }: ProvidersFile): void {
  for (const [name, { base_url: url, api_key: key, headers = {}, forward = [], omit = [] }] of Object.entries(
    providers,
  )) {
    const place = `providers.${name}`;
    if (!URL.canParse(url)) throw new Error(`${place}.base_url must be an http or https URL`);
    for (const [header, value] of Object.entries(headers)) requireHeader(`${place}.headers`, header, value);
    if (key !== undefined) requireHeader(`${place}.api_key`, 'authorization', `Bearer ${key}`);
    const vital = omit.findIndex((member) => VITAL.has(member));
    if (vital !== -1) throw new Error(`${place}.omit[${vital}] is sent to every server (${omit[vital]})`);
    const reserved = forward.findIndex((member) => RESERVED_NAMES.has(member));
    if (reserved !== -1) throw new Error(`${place}.forward[${reserved}] is a reserved name (${forward[reserved]})`);
  }
}

function requireHeader(place: string, name: string, value: string): void {
  try {
    validateHeaderName(name);
  } catch {
    throw new Error(`${place} has a name that is none of a header`);
  }
  try {
    validateHeaderValue(name, value);
  } catch {
    throw new Error(`${place}${name === 'authorization' ? '' : `.${name}`} cannot be sent as a header`);
  }
  if (OWN_HEADERS.has(name.toLowerCase())) throw new Error(`${place} must not have ${[...OWN_HEADERS].join(', ')}`);
}

function checkModels({ models = [] }: ProvidersFile): void {
  const names = models.map(({ name }) => name);
  for (const [index, { name, alias }] of models.entries()) {
    const place = `models[${index}]`;
    if (name !== undefined && names.indexOf(name) !== index) throw new Error(`${place}.name is there already`);
    if (alias === undefined) continue;
    const target = models.find((entry) => entry.name === alias);
    if (target === undefined) throw new Error(`${place}.alias must be the name of another entry`);
    if (target.alias !== undefined) throw new Error(`${place}.alias must not be an alias itself`);
  }
  if (models.filter((entry) => entry.default === true).length > 1) throw new Error('models has more than one default');
}
