import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';

import { type ConsoleFile, ConsoleFiles } from '../../src/console/index.js';
import { HomeModule } from '../../src/http/home/index.js';
import { launchBrowser, noBrowser } from '../support/browser.js';
import { type DescribedService, useService } from '../support/describe-service.js';
import { type ServiceOptions, startService } from '../support/service.js';

/** The only key of the service, of the tenant `red`. */
export const KEY = 'a-key-of-the-test';

/** What a page leaves to the next one of its browser. */
const KEPT = '[document.cookie, localStorage.length, sessionStorage.length]';

const BUNDLE = `const { bundleConsole } = await import('./scripts/build/bundle-console.ts');
await bundleConsole(process.argv[1]);`;

let built: Promise<ReadonlyMap<string, ConsoleFile | undefined>> | undefined;

/** The files of the page, built once for all spec files of a worker. */
export class BuiltConsole extends ConsoleFiles {
  constructor() {
    super(ConsoleFiles.built);
  }

  override async read(name: string): Promise<ConsoleFile | undefined> {
    return (await (built ??= buildConsole())).get(name);
  }
}

async function buildConsole(): Promise<ReadonlyMap<string, ConsoleFile | undefined>> {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-console-'));
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', BUNDLE, folder]);
    const files = new ConsoleFiles(pathToFileURL(`${folder}/`));
    return new Map(
      await Promise.all(['main.js', 'main.css'].map(async (name) => [name, await files.read(name)] as const)),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The browser of the blocks of a file. */
let browser: Promise<Browser> | undefined;

async function closeBrowser(): Promise<void> {
  const open = browser;
  browser = undefined;
  await (await open)?.close();
}

/** The console of a service in a browser, loaded anew for each test. */
export interface ConsoleTest {
  readonly service: DescribedService;
  readonly page: Page;
  /** Types the key in, and waits for the models. */
  enter(): Promise<void>;
  /** Sends a message in the first lane, with the key Enter. */
  say(text: string): Promise<void>;
  /** Has the simulator write a text in its next turn of `gpt-5`; needs SIMULATOR_CONTROL. */
  script(text: string): Promise<void>;
  /** Waits until so many turns have ended. */
  completed(count: number): Promise<void>;
  /** Gives the page a clock that the test moves, `page.clock`. Those of later tests have their own again. */
  holdClock(): Promise<void>;
  /** Opens a view by the name of its button. */
  open(view: string): Promise<void>;
  /** Writes a picture for docs/console.md and the README, only when it is asked for (SCREENSHOTS=true): of the page, or of a part of it. */
  takePicture(name: string, part?: Locator): Promise<void>;
  /** The rules of accessibility that the page breaks seriously, with the elements that break them. */
  violations(): Promise<readonly unknown[]>;
}

/**
 * Describes the console in a browser. A page fails its test when it throws, violates its policy, or asks another host. Skipped where there is
 * no browser.
 */
export function describeConsole(
  name: string,
  options: ServiceOptions | (() => Promise<ServiceOptions>),
  tests: (test: ConsoleTest) => void,
): void {
  if (noBrowser === undefined) {
    // Of the file, not of the block: blocks share it.
    afterAll(closeBrowser);
    describe(name, () => tests(useConsole(options)));
    return;
  }
  process.stderr.write(`The console is not tested in a browser: ${noBrowser}\n`);
  describe.skip(name, () => tests({} as ConsoleTest));
}

function useConsole(options: ServiceOptions | (() => Promise<ServiceOptions>)): ConsoleTest {
  let context: BrowserContext;
  let page: Page;
  let faults: string[] = [];
  let hasClock = false;

  const service = useService(async () => {
    const { environment, imports = [], ...others } = typeof options === 'function' ? await options() : options;
    return startService({
      ...others,
      environment: { API_KEYS: `red:${KEY}`, CONSOLE: 'true', ...environment },
      imports: [HomeModule, ...imports],
      overrides: [[ConsoleFiles, new BuiltConsole()]],
    });
  });

  // One page for all tests: another one is another process, which takes six times as long as to load the console again.
  const openPage = async (): Promise<void> => {
    hasClock = false;
    context = await (await (browser ??= launchBrowser())).newContext();
    context.setDefaultTimeout(0);
    page = await context.newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) faults.push(message.text());
    });
    page.on('request', (request) => {
      if (!/^(?:data|http:\/\/127\.0\.0\.1)/.test(request.url())) faults.push(request.url());
    });
  };
  beforeAll(openPage);
  afterAll(() => context.close());
  beforeEach(async () => {
    faults = [];
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${service.origin}/console`);
  });
  afterEach(async () => {
    await page.unrouteAll();
    await page.emulateMedia({ colorScheme: null });
    await context.clearPermissions();
    await context.setOffline(false);
    expect(await page.evaluate(KEPT)).toEqual(['', 0, 0]);
    await page.goto('about:blank');
    expect(faults).toEqual([]);
    if (!hasClock) return;
    await context.close();
    await openPage();
  });

  return {
    service,
    get page() {
      return page;
    },
    async enter() {
      await page.getByLabel('API key').fill(KEY);
      await page.getByRole('button', { name: 'Use key' }).click();
      await page.getByLabel('Message').waitFor();
    },
    async say(text) {
      const message = page.getByLabel('Message').first();
      await message.fill(text);
      await message.press('Enter');
    },
    async script(text) {
      const answer = await fetch(`${service.origin}/simulator/scripts`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-5', turns: [{ text }] }),
      });
      expect([answer.status, await answer.text()]).toEqual([200, expect.anything()]);
    },
    completed: (count) =>
      page
        .getByText(/^completed, /)
        .nth(count - 1)
        .waitFor(),
    async holdClock() {
      hasClock = true;
      await page.clock.install();
    },
    open: (view) => page.getByRole('button', { name: view, exact: true }).click(),
    async takePicture(name, part) {
      if (process.env['SCREENSHOTS'] !== 'true') return;
      await page.setViewportSize({ width: 1000, height: 760 });
      await (part ?? page).screenshot({ path: `docs/images/${name}.png` });
    },
    async violations() {
      const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
      // Through the debugger, which the policy of the page does not bind.
      await page.evaluate(axe);
      return page.evaluate(
        'axe.run().then(({ violations }) => violations.filter(({ impact }) => /serious|critical/.test(impact)).map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))',
      );
    },
  };
}
