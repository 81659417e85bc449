import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { build, type Metafile, type Plugin } from 'esbuild';

import {
  COMMON,
  copied,
  copyMigrations,
  formatTimesLate,
  importThroughLoader,
  inEsm,
  lazyHttp2,
  modulesIn,
  nameOnlyClasses,
  SMALL,
  threadsIn,
  TOKENIZER,
  toAscii,
} from './bundle.ts';
import { listLicences } from './list-licences.ts';

/** What an application brings, or the package itself: Nest, and what Nest stands on. */
const FRAMEWORK =
  /^(?:@nestjs\/(?:common|config|core|platform-fastify|platform-ws|websockets)|reflect-metadata|rxjs|fastify)(?:\/|$)/;

/** What the framework loads on demand, or for configurations that the service does not have. */
const NOT_OF_FRAMEWORK = [
  ...[
    '@nestjs/microservices',
    '@nestjs/platform-express',
    '@nestjs/platform-socket.io',
    'class-transformer',
    'class-validator',
  ],
  ...[
    '@fastify/ajv-compiler',
    '@fastify/fast-json-stringify-compiler',
    '@fastify/multipart',
    '@fastify/static',
    '@fastify/view',
  ],
  ...['fast-json-stringify', 'file-type', 'light-my-request', 'pino', 'ws'],
];

/** The modules of the service that the files of the package run. */
const ENTRIES = {
  index: './index.js',
  testing: './testing/index.js',
  simulation: './testing/simulation/index.js',
  start: './start.js',
  migrations: './apply-migrations.js',
};

/** The declarations that programs import. */
const TYPES = ['index.d.ts', 'testing/index.d.ts'];

const SCRIPT = {
  ...SMALL,
  format: 'cjs',
  define: { 'import.meta': 'importMeta' },
  banner: { js: `(function (require, module, importMeta, importModule) {'use strict';` },
  footer: { js: '})' },
} as const;

/**
 * Makes the package from compiled modules: the service as one script, the framework as another for those who bring none, and small files that
 * run them: what programs import, and the program `antiphon`. What is loaded on demand stays outside.
 */
export async function bundlePackage(compiled: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const service = await bundleService(compiled);
  const needed = new Set([...service.text.matchAll(/\brequire\("([^"]+)"\)/g)].flatMap(([, name = '']) => name));
  const modules = [...needed].filter((name) => FRAMEWORK.test(name)).sort();
  const framework = await bundleFramework(compiled, modules);
  const names = { SERVICE: nameOf('service', service.text), FRAMEWORK: nameOf('framework', framework.text) };
  writeFileSync(join(folder, names.SERVICE), service.text);
  writeFileSync(join(folder, names.FRAMEWORK), framework.text);
  const others = await bundleOthers(compiled, folder, names);
  for (const [file, text] of await listWrappers(compiled, modules)) writeFileSync(join(folder, file), text);
  const exported = declarationsFrom(compiled, TYPES, /^export .*? from ["'](\.[^"']+)\.js["']/gm);
  for (const path of declarationsFrom(compiled, TYPES, /(?:from|import\()\s*["'](\.[^"']+)\.js["']/g)) {
    const text = readFileSync(join(compiled, path), 'utf8');
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    // What no program can name is there for the compiler, not for a reader.
    writeFileSync(join(folder, path), exported.has(path) ? text : text.replaceAll(/^[ \t]*\/\*\*[^]*?\*\/\n/gm, ''));
  }
  copyMigrations(compiled, folder);
  listLicences(
    [service, framework, others].flatMap(({ metafile }) => modulesIn(metafile)),
    join(folder, 'licences.txt'),
  );
}

interface Bundled {
  readonly text: string;
  readonly metafile: Metafile;
}

function nameOf(what: string, text: string): string {
  return `${what}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.js`;
}

async function bundleService(compiled: string): Promise<Bundled> {
  const entries = Object.entries(ENTRIES).map(([name, path]) => `${name}: () => require('${path}')`);
  const { outputFiles, metafile } = await build({
    ...SCRIPT,
    stdin: { contents: `module.exports = { ${entries.join(', ')} };`, resolveDir: compiled },
    external: listInstalled(),
    plugins: [copied, inEsm(/^class-(?:transformer|validator)$/)],
  });
  const text = shorten(nameOnlyClasses(String(outputFiles[0]?.text)));
  return { text: toAscii(importThroughLoader(text)), metafile };
}

/** Leaves out the paths of modules, and the names of classes that have them anyhow. */
function shorten(script: string): string {
  return script
    .replaceAll(/(?<=__(?:esm|commonJS)\(\{)"[^"]*"(?=\()/g, 'run')
    .replaceAll(
      /(?<=\b(\w+)=class(?: extends [\w.$]+)?\{)static\{Object\.defineProperty\(this, "name", \{ value: "(\w+)", configurable: true \}\)\}/g,
      (block: string, variable: string, name: string) => (variable === name ? '' : block),
    );
}

/** Marks what the plugin asks for itself. */
const RESOLVING = Symbol('resolving');

/** Of modules in ESM, esbuild leaves out what is not used, if it is told that to run them has no other effect. */
const unusedLeftOut: Plugin = {
  name: 'unused-left-out',
  setup(bundler) {
    bundler.onResolve({ filter: /^rxjs(?:\/operators)?$/ }, ({ path }) => {
      const [, part = ''] = path.split('/');
      return { path: join(process.cwd(), 'node_modules/rxjs/dist/esm', part, 'index.js'), sideEffects: false };
    });
    bundler.onResolve({ filter: /^(?:@nestjs\/|\.)/ }, async ({ path, importer, pluginData, ...place }) => {
      const isOfNest = path.startsWith('@nestjs/') || importer.includes('/node_modules/@nestjs/');
      if (pluginData === RESOLVING || !isOfNest) return undefined;
      const found = await bundler.resolve(path, { importer, ...place, pluginData: RESOLVING });
      return found.errors.length > 0 ? undefined : { path: found.path, external: found.external, sideEffects: false };
    });
  },
};

async function bundleFramework(compiled: string, modules: readonly string[]): Promise<Bundled> {
  const lines = modules.map((name, index) => {
    const used = namesUsed(compiled, name);
    if (used.length === 0) return `import * as m${index} from '${name}';`;
    return `import { ${used.map((one) => `${one} as m${index}${one}`).join(', ')} } from '${name}';`;
  });
  const members = modules.map((name, index) => {
    const used = namesUsed(compiled, name).map((one) => `${one}: m${index}${one}`);
    return `'${name}': () => (${used.length === 0 ? `m${index}` : `{ __esModule: true, ${used.join(', ')} }`})`;
  });
  const { outputFiles, metafile } = await build({
    ...SCRIPT,
    minifyIdentifiers: true,
    stdin: {
      contents: ["import 'reflect-metadata';", ...lines, `module.exports = { ${members.join(', ')} };`].join('\n'),
      resolveDir: process.cwd(),
    },
    external: NOT_OF_FRAMEWORK,
    plugins: [lazyHttp2, unusedLeftOut],
  });
  const text = formatTimesLate(nameOnlyClasses(String(outputFiles[0]?.text)));
  return { text: toAscii(importThroughLoader(text)), metafile };
}

/** What our modules import from one of the framework. */
function namesUsed(compiled: string, module: string): readonly string[] {
  const names = new Set<string>();
  for (const path of globSync('**/*.js', { cwd: compiled })) {
    const text = readFileSync(join(compiled, path), 'utf8');
    for (const [, list = '', from] of text.matchAll(/^import \{([^}]+)\} from '([^']+)';/gm)) {
      if (from === module) for (const one of list.split(',')) names.add(String(one.trim().split(' as ')[0]));
    }
  }
  names.delete('');
  return [...names].sort();
}

/** The loader, the program before it loads the service, and the threads. */
async function bundleOthers(
  compiled: string,
  folder: string,
  names: Readonly<Record<string, string>>,
): Promise<{ readonly metafile: Metafile }> {
  const beside: Plugin = {
    name: 'beside',
    setup(bundler) {
      bundler.onResolve({ filter: /\/(?:start|apply-migrations)\.js$/ }, ({ path }) => ({ path, external: true }));
    },
  };
  const { metafile, outputFiles } = await build({
    ...SMALL,
    entryPoints: {
      main: join(compiled, 'main.js'),
      'tune-engine': join(compiled, 'tune-engine.js'),
      migrate: join(compiled, 'migrate.js'),
      ...threadsIn(compiled),
    },
    outdir: folder,
    splitting: true,
    chunkNames: '[name]-[hash]',
    external: listInstalled(),
    plugins: [beside, copied, inEsm(/^class-(?:transformer|validator)$/)],
  });
  const loader = await build({
    ...SMALL,
    keepNames: false,
    entryPoints: ['scripts/build/package-loader.ts'],
    outfile: join(folder, 'load.js'),
    define: Object.fromEntries(Object.entries(names).map(([name, file]) => [name, JSON.stringify(file)])),
  });
  for (const { path, text } of [...outputFiles, ...loader.outputFiles])
    writeFileSync(path, toAscii(nameOnlyClasses(text)));
  return { metafile };
}

/** The files that run a part of the service, by name. */
async function listWrappers(
  compiled: string,
  modules: readonly string[],
): Promise<readonly (readonly [string, string])[]> {
  const exported = async (entry: string): Promise<readonly string[]> => {
    const { metafile } = await build({
      ...COMMON,
      entryPoints: [join(compiled, entry)],
      outdir: 'unwritten',
      packages: 'external',
    });
    return Object.values(metafile.outputs)[0]?.exports ?? [];
  };
  const [index, testing, simulation] = await Promise.all([
    exported('index.js'),
    exported('testing/index.js'),
    exported('testing/simulation/index.js'),
  ]);
  const framework = modules.map((name, at) => `import * as m${at} from '${name}';`);
  const members = modules.map((name, at) => `'${name}': m${at}`).join(', ');
  const own = (entry: string, names: readonly string[]): string =>
    `import { loadOwn } from './load.js';\nexport const { ${names.join(', ')} } = loadOwn().${entry}();\n`;
  const others = testing.filter((name) => !simulation.includes(name));
  return [
    [
      'index.js',
      `import 'reflect-metadata';\n${framework.join('\n')}\nimport { loadShared } from './load.js';\n` +
        `export const { ${index.join(', ')} } = loadShared({ ${members} }).index();\n`,
    ],
    [
      'testing.js',
      `import { lazily } from './load.js';\n${own('simulation', simulation)}` +
        others.map((name) => `export const ${name} = lazily('testing', '${name}');\n`).join(''),
    ],
    [
      'start.js',
      `import { loadOwn } from './load.js';\nimport { asAtStart } from './tune-engine.js';\n` +
        'export const { run } = loadOwn(asAtStart).start();\n',
    ],
    ['apply-migrations.js', own('migrations', ['applyMigrations'])],
  ];
}

/** What npm installs beside the package. */
function listInstalled(): readonly string[] & string[] {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly peerDependencies: Readonly<Record<string, string>>;
  };
  const { [TOKENIZER]: _, ...installed } = { ...manifest.dependencies, ...manifest.peerDependencies };
  return Object.keys(installed);
}

/** The declarations of the entry points, and those that they come to through statements of a form. */
function declarationsFrom(compiled: string, entries: readonly string[], statement: RegExp): ReadonlySet<string> {
  const found = new Set(entries);
  for (const path of found) {
    const text = readFileSync(join(compiled, path), 'utf8');
    for (const [, target = ''] of text.matchAll(statement)) found.add(join(dirname(path), `${target}.d.ts`));
  }
  return found;
}
