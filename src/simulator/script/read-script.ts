import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { EnvironmentError, firstLineOf, parseDataFile, requireSchema } from '../../config/index.js';
import { SCRIPT_SCHEMA, type ScriptFile, type ScriptTurn } from './script-file.js';

/** A script with its model name. */
export type NamedScript = ScriptFile & { readonly model: string };

/** Reads scripts in JSON, YAML or JSON Lines. Throws EnvironmentError with one line per violation. */
export async function readScripts(paths: readonly string[]): Promise<readonly NamedScript[]> {
  if (paths.length === 0) return [];
  const scripts = new Map<string, NamedScript>();
  const violations: string[] = [];
  for (const path of paths) {
    try {
      const script = await readScript(path);
      const [twin] = [...scripts].find(([, { model }]) => model === script.model) ?? [];
      if (twin === undefined) scripts.set(path, script);
      else violations.push(`${path}: has the same model '${script.model}' as ${twin}`);
    } catch (error) {
      violations.push(`${path}: ${firstLineOf(error)}`);
    }
  }
  if (violations.length > 0)
    throw new EnvironmentError(violations.map((violation) => `SIMULATOR_SCRIPTS: ${violation}.`));
  return [...scripts.values()];
}

/** A script that a program gives. Throws an Error that names the place of a violation: `turns[2] must be …`. */
export async function requireNamedScript(value: unknown): Promise<NamedScript> {
  const script = requireSchema<ScriptFile>(value, SCRIPT_SCHEMA, { whole: 'it' });
  if (script.model === undefined) throw new Error('model is missing: no file gives the script a name');
  return { ...script, model: script.model };
}

/** Reads a script in JSON, YAML or JSON Lines. Throws an Error whose first line is the violation. */
export async function readScript(path: string): Promise<NamedScript> {
  const content = await readFile(path, 'utf8');
  const value = path.endsWith('.jsonl') ? parseLines(content) : await parseDataFile(path, content);
  const script = requireSchema<ScriptFile>(value, SCRIPT_SCHEMA);
  return { ...script, model: script.model ?? basename(path, extname(path)) };
}

/** A scripted model, and a message that it answers. */
export interface ScriptExample {
  /** `*` for every name. */
  readonly model: string;
  /** Undefined for recordings, which know their requests only by digests, and where only regular expressions match. */
  readonly input: string | undefined;
}

/** For scripts that take any message. */
const ANY_MESSAGE = 'Hello!';

/** An example for a script. */
export function exampleOf({ model, match, turns }: NamedScript): ScriptExample {
  if (match === 'request') return { model, input: undefined };
  if (match !== 'last_user_message') return { model, input: ANY_MESSAGE };
  const inputs = turns.filter(({ error, cut }) => error === undefined && cut === undefined).map(messageFor);
  return { model, input: inputs.find((input) => input !== undefined) };
}

function messageFor({ when }: ScriptTurn): string | undefined {
  if (when === undefined) return ANY_MESSAGE;
  if (typeof when === 'string') return when;
  const { matches, equals, contains } = when;
  return matches === undefined ? (equals ?? contains) : undefined;
}

/** Parses JSON Lines: each line is a turn, but the first may hold the settings. */
function parseLines(content: string): unknown {
  const lines = content.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, index + 1)]));
  const [first] = lines;
  if (typeof first !== 'object' || first === null || !('settings' in first)) return { turns: lines };
  const { settings, ...others } = first;
  // Several processes that record into one file may each write the settings.
  const turns = lines.filter((line) => !isDeepStrictEqual(line, first));
  // Other members beside the settings are kept, so that the schema reports them.
  return { ...(settings as object), ...others, turns };
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`line ${number} is not JSON`);
  }
}
