import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';

import type { ErrorObject } from 'ajv/dist/2020.js';

import { EnvironmentError } from '../../../config/index.js';
import { SCRIPT_SCHEMA, type ScriptFile } from './script-file.js';

/** A script whose model has a name. */
export type NamedScript = ScriptFile & { readonly model: string };

/** Reads scripts in JSON, YAML or JSON Lines. Throws EnvironmentError with a line per fault of any of them. */
export async function readScripts(paths: readonly string[]): Promise<readonly NamedScript[]> {
  if (paths.length === 0) return [];
  const results = await Promise.allSettled(paths.map(readScript));
  const faults = results.flatMap((result) => (result.status === 'rejected' ? [messageOf(result.reason)] : []));
  const scripts = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const names = scripts.map(({ model }) => model);
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) faults.push(`two scripts answer as '${repeated}'`);
  if (faults.length > 0) throw new EnvironmentError(faults.map((fault) => `SIMULATOR_SCRIPTS: ${fault}.`));
  return scripts;
}

/** Throws what is wrong with a script, as text that names the file and the place. */
async function readScript(path: string): Promise<NamedScript> {
  const content = await attempt(path, () => readFile(path, 'utf8'));
  const value = await attempt(path, () => parse(path, content));
  // Loaded here: it takes a while, and most services have no scripts.
  const [{ Ajv2020 }, { default: addFormats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv, ['regex']);
  const validate = ajv.compile<ScriptFile>(SCRIPT_SCHEMA);
  if (!validate(value)) throw new Error(`${path}: ${describe(validate.errors ?? [])}`);
  return { ...value, model: value.model ?? basename(path, extname(path)) };
}

async function attempt<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const [line = ''] = messageOf(error).split('\n');
    throw new Error(`${path}: ${line.replace(/[:.]$/, '')}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return String((error as { readonly message?: unknown }).message);
}

async function parse(path: string, content: string): Promise<unknown> {
  if (path.endsWith('.json')) return JSON.parse(content);
  if (path.endsWith('.jsonl')) return parseLines(content);
  const { parse: parseYaml } = await import('yaml');
  return parseYaml(content);
}

/** Each line is a turn; the first may hold the settings of the file instead. */
function parseLines(content: string): unknown {
  const lines = content.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, index + 1)]));
  const [first] = lines;
  if (typeof first !== 'object' || first === null || !('settings' in first)) return { turns: lines };
  return { ...(first.settings as object), turns: lines.slice(1) };
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`line ${number} is not JSON`);
  }
}

/** The fault deepest in the file says most; those of the alternatives around it only repeat that something is wrong. */
function describe(errors: readonly ErrorObject[]): string {
  const depth = ({ instancePath }: ErrorObject): number => instancePath.split('/').length;
  const [worst] = errors.toSorted((a, b) => depth(b) - depth(a));
  if (worst === undefined) return 'is no script';
  const place = worst.instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
  const { additionalProperty, allowedValues } = worst.params as {
    additionalProperty?: string;
    allowedValues?: string[];
  };
  const extra = additionalProperty ?? allowedValues?.join(', ');
  const detail = extra === undefined ? '' : ` (${extra})`;
  const words = worst.keyword === 'oneOf' ? 'must be exactly one of the things that can happen' : worst.message;
  return `${place === '' ? 'the file' : place} ${words ?? 'is wrong'}${detail}`;
}
