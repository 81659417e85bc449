import { join } from 'node:path';

import { build } from 'esbuild';

import { listLicences } from './list-licences.ts';

/** Bundles the page of the console into `main.js` and `main.css` of a folder, with the licences of what is in them. */
export async function bundleConsole(folder: string): Promise<void> {
  const { metafile } = await build({
    entryPoints: ['console/main.tsx', 'console/main.css'],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  listLicences(Object.keys(metafile.inputs), join(folder, 'licences.txt'));
}
