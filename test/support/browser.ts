import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { type Browser, chromium } from 'playwright-core';

/** A browser of this machine: that of CHROMIUM, or Debian's. */
const PROGRAM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Why the tests in a browser are skipped; undefined where they run. */
export const noBrowser = existsSync(PROGRAM) ? undefined : `there is no ${PROGRAM}: install chromium, or set CHROMIUM`;

/** A browser for the tests of a file. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'], timeout: 0 });
}

const BUNDLE = `const { bundleConsole } = await import('./scripts/build/bundle-console.ts');
await bundleConsole(process.argv[1]);`;

/** Builds the page of the console into a new folder, which the caller removes. Gives its URL. */
export async function buildConsole(): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-console-'));
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', BUNDLE, folder]);
  return pathToFileURL(`${folder}/`);
}
