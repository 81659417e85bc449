import { createHash } from 'node:crypto';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';

import type * as Tokens from '../../src/providers/tokens/vocabulary.ts';
import { listLicences } from './list-licences.ts';

/** Nest loads parts of itself with `import()`, and what it stands on. There must be one of each. */
const NEST =
  /^(?:@nestjs\/(?:common|config|core|platform-fastify|platform-ws|websockets)|class-transformer|ws)(?:\/|$)/;

/** Copied into the program and the package: npm would install 12 MB beside them that are not used here. */
const COPIED = /^(?:prom-client|turndown)$/;

/**
 * Copies packages without what they do not use: `turndown` is given documents, and needs no DOM of its own; `prom-client` asks for spans only
 * where it writes exemplars.
 */
export const copied: Plugin = {
  name: 'copied',
  setup(bundler) {
    bundler.onResolve({ filter: /^turndown$/ }, ({ resolveDir }) =>
      bundler.resolve('turndown/lib/turndown.browser.es.js', { resolveDir, kind: 'import-statement' }),
    );
    bundler.onResolve({ filter: /^@opentelemetry\/api$/ }, ({ importer }) =>
      importer.includes('node_modules/prom-client/') ? { path: 'unused', namespace: 'unused' } : undefined,
    );
    bundler.onLoad({ filter: /^/, namespace: 'unused' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** Other packages that are loaded with `import()` are for some configurations only: they stay where they are installed. */
const onDemand: Plugin = {
  name: 'on-demand',
  setup(bundler) {
    // Names of packages, with or without a path.
    bundler.onResolve({ filter: /^[^./#]/ }, ({ path, kind }) =>
      kind === 'dynamic-import' && !NEST.test(path) && !COPIED.test(path) ? { path, external: true } : undefined,
    );
  },
};

/**
 * Of modules in ESM, esbuild leaves out what is not used: of `class-validator` every rule but those of our classes, and half a megabyte of
 * telephone numbers.
 */
export function inEsm(filter: RegExp): Plugin {
  return {
    name: 'in-esm',
    setup(bundler) {
      bundler.onResolve({ filter }, ({ path, resolveDir, kind }) =>
        kind === 'dynamic-import' ? undefined : bundler.resolve(`${path}/esm2015/index.js`, { resolveDir, kind }),
      );
    },
  };
}

/** Fastify loads Node's HTTP/2, and uses it only where an application asks for it. */
export const lazyHttp2: Plugin = {
  name: 'lazy-http2',
  setup(bundler) {
    bundler.onResolve({ filter: /^(?:node:)?http2$/ }, ({ namespace }) =>
      namespace === 'lazy' ? undefined : { path: 'node:http2', namespace: 'lazy' },
    );
    bundler.onLoad({ filter: /^/, namespace: 'lazy' }, ({ path }) => ({
      contents: `module.exports = new Proxy({}, { get: (_, name) => require('${path}')[name] });`,
    }));
  },
};

/** `main.js` has loaded it before: there must be one. */
const besideLoader: Plugin = {
  name: 'beside-loader',
  setup(bundler) {
    bundler.onResolve({ filter: /\/tune-engine\.ts$/ }, () => ({ path: './tune-engine.js', external: true }));
  },
};

export const COMMON = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  legalComments: 'none',
  keepNames: true,
  write: false,
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** Names stay, so that stacks can be read; lines are short enough for them. The text of a script stays in memory. */
export const SMALL = { ...COMMON, minifyWhitespace: true, minifySyntax: true, lineLimit: 160 } as const;

/** Packages in CommonJS call `require` for modules of Node. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(import.meta.url);`;

/** Only the vocabulary is read from it, where it is installed. How words are split is in the package. */
export const TOKENIZER = 'gpt-tokenizer';

/** The modules of the threads, by the names under which the service looks for them beside itself. */
export function threadsIn(folder: string): Readonly<Record<string, string>> {
  return {
    thread: join(folder, 'state/sqlite/thread.js'),
    'schema-thread': join(folder, 'simulator/schema/schema-thread.js'),
    'document-thread': join(folder, 'files/documents/document-thread.js'),
  };
}

/** Nest brings `class-transformer` in CommonJS, and there must be one. */
const OF_PROGRAM = [copied, onDemand, inEsm(/^class-validator$/), lazyHttp2];

/**
 * Puts the modules of the program into one file that `start.js` loads, those of the threads into files of their
 * own, and those of `npm run migrate` into `apply-migrations.js`. Finding, reading and linking two thousand modules is a third
 * of a start. The other files stay as they were compiled.
 */
export async function bundleProgram(folder: string): Promise<void> {
  const program = await bundleScript(join(folder, 'start.js'));
  const name = `program-${createHash('sha256').update(program.text).digest('hex').slice(0, 16)}.js`;
  writeFileSync(join(folder, name), program.text);
  const loader = await build({
    ...COMMON,
    entryPoints: ['scripts/build/program-loader.ts'],
    outfile: join(folder, 'start.js'),
    define: { PROGRAM: JSON.stringify(name) },
    plugins: [besideLoader],
  });
  const modules = await build({
    ...COMMON,
    entryPoints: { 'apply-migrations': join(folder, 'apply-migrations.js'), ...threadsIn(folder) },
    outdir: folder,
    allowOverwrite: true,
    banner: { js: REQUIRE },
    plugins: OF_PROGRAM,
  });
  for (const { path, text } of [...loader.outputFiles, ...modules.outputFiles]) {
    writeFileSync(path, toAscii(nameOnlyClasses(text)));
    // No map either: with the first stack Node would read all of it, for half a second and 150 MB.
    rmSync(`${path}.map`, { force: true });
  }
  copyMigrations(folder, folder);
  await packVocabulary(folder);
  listLicences([program.metafile, modules.metafile].flatMap(modulesIn), join(folder, 'start.licences.txt'));
}

/** Puts a module and all that it imports into the text of a function, which `program-loader.ts` calls. */
async function bundleScript(entry: string): Promise<{ readonly text: string; readonly metafile: Metafile }> {
  const { metafile, outputFiles } = await build({
    ...SMALL,
    format: 'cjs',
    entryPoints: [entry],
    define: { 'import.meta': 'importMeta' },
    banner: { js: `(function (require, module, importMeta, importModule) {'use strict';` },
    footer: { js: '})' },
    plugins: OF_PROGRAM,
  });
  const text = importThroughLoader(formatTimesLate(nameOnlyClasses(String(outputFiles[0]?.text))));
  return { text: toAscii(text), metafile };
}

/** Nest's two loggers make formats of times when they are loaded, for 17 ms of CPU, and ours writes times by itself. */
export function formatTimesLate(script: string): string {
  let count = 0;
  // Lines may break behind every bracket and comma.
  const late = script.replaceAll(/\bnew Intl\.DateTimeFormat\(\s*void 0,\s*\{[^{}]*\}\s*\)(?=\s*[;,])/g, (format) => {
    count += 1;
    return `{ format: (time) => ${format}.format(time) }`;
  });
  if (count !== 2 && script.includes('ConsoleLogger')) throw new Error('Nest formats times in another way now');
  return late;
}

/** A script imports nothing by itself, so that it asks its loader. */
export function importThroughLoader(script: string): string {
  if (/^\s*(?:async )?import\(.*\{$/m.test(script)) throw new Error('a method is named `import`');
  return script.replaceAll(/(?<![.\w$])import\(/g, 'importModule(');
}

/** The modules of which something is left in the files. */
export function modulesIn({ outputs }: Metafile): readonly string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  return inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
}

/** To read the lines of the package takes a sixth of the CPU of a start. The package's licence is listed with its regular expression. */
async function packVocabulary(folder: string): Promise<void> {
  const path = pathToFileURL(resolve(folder, 'providers/tokens/vocabulary.js')).href;
  const { Vocabulary } = (await import(path)) as typeof Tokens;
  const lines = readFileSync(fileURLToPath(import.meta.resolve(`${TOKENIZER}/data/o200k_base.tiktoken`)));
  const reader = Vocabulary.reader(lines.length);
  reader.add(lines);
  writeFileSync(join(folder, 'vocabulary.bin'), reader.end().pack());
}

/** Modules look for these beside themselves. */
export function copyMigrations(compiled: string, folder: string): void {
  cpSync(join(compiled, 'state/postgres/migrations'), join(folder, 'migrations'), { recursive: true });
}

/** How esbuild restores the name of what it had to rename, in a line of its own; with short names where it minifies. */
const NAME =
  /var (\w+) ?= ?\((\w+), ?(\w+)\) ?=> ?(\w+)\(\2, ?"name", ?\{ ?value(?:: ?\3)?, ?configurable: ?(?:true|!0) ?\}\)[;,]/;

/**
 * Names of classes are in the log, and Nest's decide what is logged. Names of functions are nowhere, and to set them would cost a
 * call of `defineProperty` for each function that a turn makes: a quarter of its CPU.
 */
export function nameOnlyClasses(bundle: string): string {
  const [found, name = '__name'] = NAME.exec(bundle) ?? [];
  if (found === undefined) {
    if (/"name", ?\{ ?value/.test(bundle)) throw new Error('esbuild names classes in another way now');
    return bundle;
  }
  const end = found.at(-1) ?? ';';
  const kept = `${found.slice(0, found.indexOf('='))}= (target) => target${end}`;
  const call = `(?<![\\w$.])${name.replaceAll('$', '\\$')}`;
  const ofClasses = new RegExp(`${call}\\(this, ?("[^"]*")\\)`, 'g');
  const ofFunctions = new RegExp(`(?<=[;{}]\\s*)${call}\\([\\w$]+, ?"[^"]*"\\)[;,]`, 'g');
  return bundle
    .replace(found, () => kept)
    .replaceAll(ofClasses, 'Object.defineProperty(this, "name", { value: $1, configurable: true })')
    .replaceAll(ofFunctions, '');
}

/**
 * Escapes what esbuild leaves, in regular expressions and comments. Node keeps the text of a module, and one character beyond Latin-1 makes
 * it keep two bytes for each: 9 MB.
 */
export function toAscii(bundle: string): string {
  if (/\\[^\0-\x7F]/.test(bundle)) throw new Error('a backslash is before a character that has to be escaped');
  return bundle.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
