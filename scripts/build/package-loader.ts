/**
 * Becomes `lib/load.js`: runs the script that has the service, with the framework of the application, or with that of the package, which is a
 * script too. What V8 compiles of them is kept for later processes. So `simulate()` and the program neither find, read and link a thousand files
 * of Nest, nor compile them.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';

import { describeOldNode } from '../../src/node-version.ts';

/** The files beside this one. Their names change with their content, of which V8 compares only the length with what is compiled. */
declare const SERVICE: string;
declare const FRAMEWORK: string;

/** What a module exports. */
type Exports = Readonly<Record<string, unknown>>;
/** The modules of a script that are asked for, each run when it is called first. */
type Modules = Readonly<Record<string, () => Exports>>;

/** What a script gives, for a CommonJS module with what else is of this one. */
type Wrapper = (
  require: (name: string) => unknown,
  module: { exports: unknown },
  importMeta: ImportMeta,
  importModule: (name: string) => Promise<unknown>,
) => void;

/** After this time what is compiled is kept, ms: of the first process only, as long as its files do not change. */
const STARTED_MS = 2000;

// Whoever imports the package learns which Node it needs, not which name of a module is missing.
const fault = describeOldNode();
if (fault !== undefined) throw new Error(fault);

const FOLDER = new URL('.', import.meta.url);
const CACHE = fileURLToPath(new URL('../.cache/compiled', FOLDER));

/** Node's own: that of Jest knows no ES modules. */
const { createRequire: requireFrom } = process.getBuiltinModule('node:module') as {
  createRequire: typeof createRequire;
};
const installed = requireFrom(import.meta.url);

/** A package that is beside this one. */
function load(name: string): unknown {
  try {
    return installed(name);
  } catch (error) {
    // Of a package that only `import` finds by its name. Jest has a code of its own.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ERR_PACKAGE_PATH_NOT_EXPORTED', 'MODULE_NOT_FOUND'].includes(code)) throw error;
    return installed(fileURLToPath(import.meta.resolve(name)));
  }
}

let keepAsAtStart: AsAtStart = (work) => work();
let own: Modules | undefined;
let shared: Modules | undefined;

/** Does something with the flags of V8 that the process started with. */
type AsAtStart = <T>(work: () => T) => T;

/** The service with the framework of the package: for those who bring none. `asAtStart` is for a program that changes the flags of V8. */
export function loadOwn(asAtStart: AsAtStart = (work) => work()): Modules {
  if (own !== undefined) return own;
  keepAsAtStart = asAtStart;
  // What else it loads on demand are dependencies of Fastify.
  const framework = run(FRAMEWORK, requireFrom(installed.resolve('fastify'))) as Modules;
  own = run(
    SERVICE,
    (name) => framework[name]?.() ?? load(name),
    async (name): Promise<unknown> => framework[name]?.() ?? (import(name) as Promise<unknown>),
  ) as Modules;
  return own;
}

/** The service with the framework of the application: `framework` has its modules by name, if they are loaded already. */
export function loadShared(framework: Readonly<Record<string, Exports>> = {}): Modules {
  return (shared ??= run(SERVICE, (name) => framework[name] ?? load(name)) as Modules);
}

/** Something that a module of the shared service exports, as a function or a class. The service is loaded when it is used. */
export function lazily(module: string, name: string): unknown {
  const real = (): object => loadShared()[module]?.()[name] as object;
  const stand = function (): void {
    // Never called.
  };
  const proxy: object = new Proxy(stand, {
    apply: (_, self, args): unknown => Reflect.apply(real() as () => unknown, self, args),
    construct: (_, args, target) =>
      Reflect.construct(real() as never, args, target === proxy ? (real() as never) : target) as object,
    get: (_, key) => Reflect.get(real(), key) as unknown,
    has: (_, key) => Reflect.has(real(), key),
    // Metadata of classes is found through it.
    getPrototypeOf: () => real(),
  });
  return proxy;
}

function run(
  file: string,
  require: (name: string) => unknown,
  importModule: (name: string) => Promise<unknown> = (name) => import(name) as Promise<unknown>,
): unknown {
  const filename = fileURLToPath(new URL(file, FOLDER));
  // The file is ASCII.
  const source = readFileSync(filename, 'latin1');
  const module: { exports: unknown } = { exports: {} };
  evaluate(source, file, filename)(require, module, import.meta, importModule);
  return module.exports;
}

function evaluate(source: string, file: string, filename: string): Wrapper {
  // What tests run in a context of their own, such as Jest's, has arrays and errors of its own too; a script is of the first context.
  const here = new Script('globalThis').runInThisContext() as typeof globalThis;
  if (here !== globalThis) return (0, eval)(`${source}\n//# sourceURL=${filename}`) as Wrapper;
  const path = join(CACHE, `${file}-${process.version}-${cachedDataVersionTag().toString(36)}`);
  const cachedData = readIfThere(path);
  const script = new Script(source, { filename, ...(cachedData === undefined ? {} : { cachedData }) });
  if (script.cachedDataRejected !== false) keepLater(script, path);
  return script.runInThisContext() as Wrapper;
}

/** Keeps what is compiled when the process has started, or ends before. */
function keepLater(script: Script, path: string): void {
  if (process.env['NODE_DISABLE_COMPILE_CACHE'] !== undefined) return;
  const keep = (): void => {
    clearTimeout(timer);
    process.off('exit', keep);
    try {
      const temporary = `${path}.${process.pid}`;
      mkdirSync(CACHE, { recursive: true });
      writeFileSync(
        temporary,
        keepAsAtStart(() => script.createCachedData()),
      );
      renameSync(temporary, path);
    } catch {
      // Later processes compile too.
    }
  };
  const timer = setTimeout(keep, STARTED_MS).unref();
  process.once('exit', keep);
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
