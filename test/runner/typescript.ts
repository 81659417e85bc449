/**
 * Has Node import the sources: in the workers of the tests, and in the threads that the service starts. TypeScript is transformed by SWC, as
 * jest would, and kept in `.cache/tests` by the hash of what it came from: a second run transforms nothing.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, threadId } from 'node:worker_threads';

import type * as swc from '@swc/core';

import SWC_OPTIONS from './swc.json' with { type: 'json' };

const ROOT = new URL('../../', import.meta.url);
const CACHE = resolve(fileURLToPath(ROOT), process.env['ANTIPHON_CACHE'] ?? '.cache', 'tests');

/** What imports name, other than by a path. `@jest/globals` of a package is only an error: jest itself replaces it too. */
const NAMED: Readonly<Record<string, string>> = {
  antiphon: new URL('src/index.ts', ROOT).href,
  'antiphon/testing': new URL('src/testing/index.ts', ROOT).href,
  '@jest/globals': new URL('globals.ts', import.meta.url).href,
};

const require = createRequire(import.meta.url);
const VERSION = [process.version, JSON.stringify(SWC_OPTIONS), readFileSync(require.resolve('@swc/core/package.json'))];
const SEED = createHash('sha256').update(VERSION.join('\n')).digest('hex');

/** Where the source map of a module lies, by the module's URL. */
export const sourceMaps = new Map<string, string>();

// Threads are told before this file is read again, which Node would else strip of its types and compile for each of them.
process.env['NODE_COMPILE_CACHE'] ??= join(CACHE, 'compiled');
enableCompileCache(process.env['NODE_COMPILE_CACHE']);

registerHooks({
  resolve: (specifier, context, next) => {
    const named = NAMED[specifier];
    if (named !== undefined && isOurs(context.parentURL)) return { url: named, shortCircuit: true };
    // They name their imports `.js`, as they are called once built.
    if (!/^(?:\.|file:).*\.js$/.test(specifier) || !isOurs(context.parentURL)) return next(specifier, context);
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    return existsSync(source) ? { url: source.href, shortCircuit: true } : next(specifier, context);
  },
  load: (url, context, next) => {
    if (!url.endsWith('.ts') || !isOurs(url)) return next(url, context);
    return { format: 'module', source: transform(url), shortCircuit: true };
  },
});

function isOurs(url: string | undefined): boolean {
  return url === undefined || (url.startsWith(ROOT.href) && !url.includes('/node_modules/'));
}

function transform(url: string): string {
  const source = readFileSync(new URL(url), 'utf8');
  // By its name and not by its path: the next clone finds it too.
  const name = basename(url);
  const path = join(CACHE, createHash('sha256').update(SEED).update(name).update(source).digest('hex'));
  sourceMaps.set(url, `${path}.map`);
  return readIfThere(`${path}.js`) ?? (isMainThread ? compile(source, name, path) : strip(source, path));
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function compile(source: string, name: string, path: string): string {
  const { transformSync } = require('@swc/core') as typeof swc;
  const { code, map } = transformSync(source, {
    ...(SWC_OPTIONS as swc.Options),
    sourceMaps: true,
    filename: name,
    sourceFileName: name,
  });
  writeWhole(`${path}.map`, map ?? '');
  writeWhole(`${path}.js`, code);
  return code;
}

/** For threads, which have no decorators: SWC is not made to be loaded in them. */
function strip(source: string, path: string): string {
  const kept = readIfThere(`${path}.stripped.js`);
  if (kept !== undefined) return kept;
  const code = stripTypeScriptTypes(source, { mode: 'transform', sourceMap: true });
  try {
    writeWhole(`${path}.stripped.js`, code);
  } catch {
    // The process has given up its rights.
  }
  return code;
}

/** Another worker may write the same file, and yet another read it. */
function writeWhole(path: string, text: string): void {
  mkdirSync(CACHE, { recursive: true });
  const draft = `${path}.${process.pid}-${threadId}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}
