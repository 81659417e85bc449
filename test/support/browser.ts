import { existsSync } from 'node:fs';

import { type Browser, chromium } from 'playwright-core';

/** A browser of this machine: that of CHROMIUM, or Debian's. */
const PROGRAM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Why the tests in a browser are skipped; undefined where they run. */
export const noBrowser = existsSync(PROGRAM) ? undefined : `there is no ${PROGRAM}: install chromium, or set CHROMIUM`;

/** A browser for the tests of a file. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'], timeout: 0 });
}
