/**
 * Becomes `dist/start.js`: runs the file that has the program, with what V8 compiled of it at an earlier start. Node's own cache has what
 * is compiled before a module runs; most functions are compiled when they are called first, for a quarter of the CPU of a start.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

import type * as Start from '../../src/start.ts';
import { asAtStart } from '../../src/tune-engine.ts';

/** The file beside this one. Its name changes with its content, of which V8 compares only the length with what is compiled. */
declare const PROGRAM: string;

/** What the file gives, for a CommonJS module with what else is of this one. */
type Wrapper = (
  require: NodeJS.Require,
  module: { exports: unknown },
  importMeta: ImportMeta,
  importModule: (name: string) => Promise<unknown>,
) => void;

/** When a start is over at the latest, ms. */
const STARTED_MS = 5000;

const filename = fileURLToPath(new URL(PROGRAM, import.meta.url));
/** Written by the build, for the Node that built. */
const built = `${filename}.compiled`;
/** Written by a start on another Node; null where NODE_DISABLE_COMPILE_CACHE is set, or nothing can be written. */
const kept = inCache();
const script = load();

export const { run } = evaluate() as typeof Start;

/** Writes what is compiled by now for later starts, without effect where that cannot be written. */
export function keepCompiled(path: string = built): void {
  const compiled = asAtStart(() => script.createCachedData());
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, compiled);
    renameSync(temporary, path);
  } catch {
    // Later starts are slower.
  }
}

function inCache(): string | null {
  const directory = getCompileCacheDir();
  return directory === undefined ? null : join(directory, `${PROGRAM}.compiled`);
}

function load(): Script {
  // The file is ASCII.
  const source = readFileSync(filename, 'latin1');
  for (const path of kept === null ? [built] : [built, kept]) {
    const cachedData = readIfThere(path);
    if (cachedData === undefined) continue;
    const compiled = new Script(source, { filename, cachedData });
    if (compiled.cachedDataRejected === false) return compiled;
  }
  if (kept !== null) setTimeout(() => keepCompiled(kept), STARTED_MS).unref();
  return new Script(source, { filename });
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function evaluate(): unknown {
  const module: { exports: unknown } = { exports: {} };
  const wrapper = script.runInThisContext() as Wrapper;
  wrapper(createRequire(import.meta.url), module, import.meta, (name) => import(name));
  return module.exports;
}
