import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';

import { EnvironmentError } from '../../../config/index.js';
import { describeFaults } from './describe-faults.js';
import { SCRIPT_SCHEMA, type ScriptFile } from './script-file.js';

/** A script whose model has a name. */
export type NamedScript = ScriptFile & { readonly model: string };

/** Reads scripts in JSON, YAML or JSON Lines. Throws EnvironmentError with a line per fault of any of them. */
export async function readScripts(paths: readonly string[]): Promise<readonly NamedScript[]> {
  if (paths.length === 0) return [];
  const scripts = new Map<string, NamedScript>();
  const faults: string[] = [];
  for (const path of paths) {
    try {
      const script = await readScript(path);
      const [twin] = [...scripts].find(([, { model }]) => model === script.model) ?? [];
      if (twin === undefined) scripts.set(path, script);
      else faults.push(`${path}: answers as '${script.model}', like ${twin}`);
    } catch (error) {
      const [line = ''] = messageOf(error).split('\n');
      faults.push(`${path}: ${line.replace(/[:.]$/, '')}`);
    }
  }
  if (faults.length > 0) throw new EnvironmentError(faults.map((fault) => `SIMULATOR_SCRIPTS: ${fault}.`));
  return [...scripts.values()];
}

async function readScript(path: string): Promise<NamedScript> {
  const content = await readFile(path, 'utf8');
  // Loaded here: it takes a while, and most services have no scripts.
  const [{ parse }, { Ajv2020 }, { default: addFormats }] = await Promise.all([
    import('yaml'),
    import('ajv/dist/2020.js'),
    import('ajv-formats'),
  ]);
  const value: unknown = path.endsWith('.jsonl') ? parseLines(content) : (parseJson(path, content) ?? parse(content));
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true });
  addFormats.default(ajv, ['regex']);
  const validate = ajv.compile<ScriptFile>(SCRIPT_SCHEMA);
  if (!validate(value)) throw new Error(describeFaults(validate.errors ?? []));
  return { ...value, model: value.model ?? basename(path, extname(path)) };
}

/** Undefined for what is no JSON: it is read as YAML, which tells its faults with their place. */
function parseJson(path: string, content: string): unknown {
  if (!path.endsWith('.json')) return undefined;
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return String((error as { readonly message?: unknown }).message);
}

/** Each line is a turn; the first may hold the settings of the file instead. */
function parseLines(content: string): unknown {
  const lines = content.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, index + 1)]));
  const [first] = lines;
  if (typeof first !== 'object' || first === null || !('settings' in first)) return { turns: lines };
  const { settings, ...others } = first;
  // What stands beside the settings is told as a fault of its own.
  return { ...(settings as object), ...others, turns: lines.slice(1) };
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`line ${number} is not JSON`);
  }
}
