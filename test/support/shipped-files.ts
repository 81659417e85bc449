import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { parse, parseAllDocuments } from 'yaml';

import { Environment } from '../../src/config/index.js';
import { requireRule } from '../../src/testing/events/rule.js';

/** The directory of the project. */
export const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** What Node, npm and the C library read of the environment, besides the variables of the service. */
const OF_THE_RUNTIME = ['NODE_COMPILE_CACHE', 'NODE_ENV', 'NODE_OPTIONS', 'MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_'];

/** A file of the project, by its path within it. */
export function readShipped(path: string): Promise<string> {
  return readFile(`${PROJECT}${path}`, 'utf8');
}

/** The one YAML document of a file, with its `<<` merged. */
export async function readYaml<Document>(path: string): Promise<Document> {
  const text = await readShipped(path);
  const [document, ...others] = parseAllDocuments(text);
  requireRule(document !== undefined && others.length === 0, `${path} must have one YAML document`);
  return parse(text, { merge: true }) as Document;
}

/** The names among these that neither the service nor its runtime reads. */
export function unknownVariables(names: readonly string[]): readonly string[] {
  const known = new Set([...Object.keys(new Environment()), ...OF_THE_RUNTIME]);
  return names.filter((name) => !known.has(name));
}

/** How long a shutdown takes at most with these variables, ms. */
export function longestShutdown(variables: Readonly<Record<string, unknown>>): number {
  const defaults = new Environment();
  const names = ['SHUTDOWN_DELAY_MS', 'DRAIN_TIMEOUT_MS', 'SHUTDOWN_MARGIN_MS'];
  return names.reduce((sum, name) => sum + Number(variables[name] ?? Reflect.get(defaults, name)), 0);
}
