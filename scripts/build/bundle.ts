import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build, type Plugin } from 'esbuild';

import { listLicences } from './list-licences.ts';

/** Nest loads parts of itself with `import()`, and what it stands on. There must be one of each. */
const NEST =
  /^(?:@nestjs\/(?:common|config|core|platform-fastify|platform-ws|websockets)|class-(?:transformer|validator)|ws)(?:\/|$)/;

/** Other packages that are loaded with `import()` are for some configurations only: they stay where they are installed. */
const onDemand: Plugin = {
  name: 'on-demand',
  setup(bundler) {
    // Names of packages, with or without a path.
    bundler.onResolve({ filter: /^[^./#]/ }, ({ path, kind }) =>
      kind === 'dynamic-import' && !NEST.test(path) ? { path, external: true } : undefined,
    );
  },
};

/** Packages in CommonJS call `require` for modules of Node. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(import.meta.url);`;

/**
 * Puts the modules of `start.js` into that one file, those of the database's thread into `thread.js`, and those of the simulator's into
 * `schema-thread.js`. Finding, reading and linking two thousand modules is a third of a start. The other files stay for programs that import the package.
 */
export async function bundleProgram(folder: string): Promise<void> {
  const { metafile, outputFiles } = await build({
    entryPoints: {
      start: join(folder, 'start.js'),
      thread: join(folder, 'state/sqlite/thread.js'),
      'schema-thread': join(folder, 'simulator/schema/schema-thread.js'),
    },
    outdir: folder,
    allowOverwrite: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    banner: { js: REQUIRE },
    legalComments: 'none',
    keepNames: true,
    write: false,
    plugins: [onDemand],
    metafile: true,
    logLevel: 'warning',
  });
  for (const { path, text } of outputFiles) writeFileSync(path, toAscii(nameOnlyClasses(text)));
  // No map either: with the first stack Node would read all of it, for half a second and 150 MB.
  rmSync(join(folder, 'start.js.map'), { force: true });
  // Modules look for these beside themselves.
  cpSync(join(folder, 'state/postgres/migrations'), join(folder, 'migrations'), { recursive: true });
  listLicences(Object.keys(metafile.inputs), join(folder, 'start.licences.txt'));
}

/** How esbuild restores the name of what it had to rename, in a line of its own. */
const NAME = 'var __name = (target, value) => __defProp(target, "name", { value, configurable: true });';

/**
 * Names of classes are in the log, and Nest's decide what is logged. Names of functions are nowhere, and to set them would cost a
 * call of `defineProperty` for each function that a turn makes: a quarter of its CPU.
 */
function nameOnlyClasses(bundle: string): string {
  if (bundle.includes('__name(') && !bundle.includes(NAME)) throw new Error('esbuild names classes in another way now');
  const ofClasses = NAME.replace('__name', '__nameClass');
  return bundle
    .replace(NAME, `${ofClasses} var __name = (target) => target;`)
    .replaceAll('__name(this, ', '__nameClass(this, ');
}

/**
 * Escapes what esbuild leaves, in regular expressions and comments. Node keeps the text of a module, and one character beyond Latin-1 makes
 * it keep two bytes for each: 9 MB.
 */
function toAscii(bundle: string): string {
  if (/\\[^\0-\x7F]/.test(bundle)) throw new Error('a backslash is before a character that has to be escaped');
  return bundle.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
