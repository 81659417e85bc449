import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = join(HERE, '../..');
const JEST = join(ROOT, 'node_modules/jest/bin/jest.js');

/** What jest reports of a run. */
interface Report {
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly message: string;
  readonly assertionResults: readonly TestReport[];
}

interface TestReport {
  readonly title: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
  readonly numPassingAsserts: number;
}

let directory: string;

beforeAll(async () => {
  // Within the repository: only what lies there is read as TypeScript.
  await mkdir(join(ROOT, '.cache'), { recursive: true });
  directory = await mkdtemp(join(ROOT, '.cache/runner-'));
});

afterAll(() => rm(directory, { recursive: true }));

/** Runs files of these texts as specs, as `npm run test:only` does, one after another. */
async function run(
  files: Readonly<Record<string, string>>,
  options: readonly string[] = [],
  { heapMegabytes }: { readonly heapMegabytes: number } = { heapMegabytes: 1024 },
): Promise<Report> {
  const own = await mkdtemp(join(directory, 'run-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(own, name), text);
  const config = {
    rootDir: own,
    runner: [join(HERE, 'slots.ts'), { waiting: '/waiting', waitingSlots: 1 }],
    runtime: join(HERE, 'runtime.ts'),
    testEnvironment: join(HERE, 'environment.ts'),
    // Here nothing goes by itself.
    testEnvironmentOptions: { patienceMs: 100, heapMegabytes },
    injectGlobals: false,
    transform: {},
    testSequencer: join(HERE, 'sequencer.ts'),
    testMatch: ['<rootDir>/*.spec.ts'],
    moduleFileExtensions: ['ts', 'js'],
    maxWorkers: 1,
  };
  const node = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    `--import=${join(HERE, 'typescript.ts')}`,
  ];
  const outputFile = join(own, 'report.json');
  const jest = [JEST, '--config', JSON.stringify(config), '--json', '--outputFile', outputFile, ...options];
  // It ends with 1 where a test fails.
  const failed = await promisify(execFile)(process.execPath, [...node, ...jest], { cwd: own }).then(
    () => '',
    (error: unknown) => (error as { readonly stderr: string }).stderr,
  );
  return readFile(outputFile, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => Promise.reject(new Error(failed)),
  );
}

/** A file of a report. */
function fileOf({ testResults }: Report, name = 'one.spec.ts'): FileReport {
  const file = testResults.find((each) => basename(each.name) === name);
  if (file === undefined) throw new Error(`${name} did not run`);
  return file;
}

describe('a spec that shares the modules of its worker', () => {
  /** What the tests below look at: one run of all of them. */
  const together: Record<string, string> = {};
  let report: Report;

  beforeAll(async () => {
    report = await run(together);
  });

  it('a spec finds what an earlier file has imported, and what it keeps', async () => {
    const spec = `
      import { expect, it } from '@jest/globals';
      import { count } from './counter.js';
      it('counts', () => void expect(count()).toBeGreaterThan(0));
      it(\`gives \${count()}\`, () => undefined);
    `;
    const counter = 'let counted = 0; export const count = (): number => ++counted;';
    const files = { 'counter.ts': counter, 'one.spec.ts': spec, 'two.spec.ts': spec };
    const titles = async (heapMegabytes: number): Promise<readonly string[]> => {
      const { testResults } = await run(files, [], { heapMegabytes });
      const all = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ title }) => title));
      return all.filter((title) => title !== 'counts').sort();
    };
    expect(await titles(1024)).toEqual(['gives 1', 'gives 3']);
    // A worker that has grown runs no further file.
    expect(await titles(1)).toEqual(['gives 1', 'gives 1']);
  });

  const holding = `
    import { setImmediate as nextLoopTurn } from 'node:timers/promises';
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';

    import { describe, expect, it } from '@jest/globals';

    import { held } from './held.js';

    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');

    async function isGone(those: readonly WeakRef<object>[]): Promise<boolean> {
      await nextLoopTurn();
      collect();
      return those.every((each) => each.deref() === undefined);
    }

    const earlier = [...held];
    const closed: WeakRef<object>[] = [];
    describe('a block', () => {
      const service = { of: 'this block' };
      held.push(new WeakRef(service));
      it('uses its service', () => expect(service).toBeDefined());
    });
    it('listens', () => {
      const listener = (): void => undefined;
      process.on('question', listener);
      closed.push(new WeakRef(listener));
    });
    it('listens no more', () => void process.removeAllListeners('question'));
    it(\`lets go of \${earlier.length} of earlier files\`, async () => expect(await isGone(earlier)).toBe(true));
    it('lets go of the listener', async () => expect(await isGone(closed)).toBe(true));
  `;
  together['held.ts'] = 'export const held: WeakRef<object>[] = [];';
  together['holding-one.spec.ts'] = holding;
  together['holding-two.spec.ts'] = holding;

  it('a spec lets go of what earlier files held, and of what its own tests have closed', () => {
    const files = ['holding-one.spec.ts', 'holding-two.spec.ts'].map((name) => fileOf(report, name));
    const all = files.flatMap(({ assertionResults }) => assertionResults);
    expect(all.filter(({ status }) => status !== 'passed')).toEqual([]);
    expect(all.map(({ title }) => title)).toContain('lets go of 1 of earlier files');
  });

  together['lines.spec.ts'] = `
    import { expect, it } from '@jest/globals';
    interface Gone {
      readonly with: 'its types';
    }
    it.each([1, 2])('passes %i', (value) => {
      expect(value).toBeGreaterThan(0);
      expect({ value } as unknown as Gone).toEqual({ value });
    });
    it('fails', () => {
      expect(1).toBe(2);
    });
  `;

  it('a spec is reported with the lines of its TypeScript, and with its assertions counted', () => {
    const file = fileOf(report, 'lines.spec.ts');
    const [one, two, fails] = file.assertionResults;
    expect([one, two]).toMatchObject([
      { title: 'passes 1', status: 'passed', numPassingAsserts: 2 },
      { title: 'passes 2', status: 'passed', numPassingAsserts: 2 },
    ]);
    expect(fails).toMatchObject({
      title: 'fails',
      status: 'failed',
      failureMessages: [expect.stringMatching(/lines\.spec\.ts:11:17/)],
    });
  });

  together['spying-one.spec.ts'] = `
    import { expect, it, jest } from '@jest/globals';
    import { subject } from './subject.js';
    jest.setTimeout(1);
    it('spies', () => {
      jest.spyOn(subject, 'speak').mockReturnValue('spied');
      expect(subject.speak()).toBe('spied');
    });
  `;
  together['spying-two.spec.ts'] = `
    import { expect, it } from '@jest/globals';
    import { subject } from './subject.js';
    it('hears it, late', async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(subject.speak()).toBe('true');
    });
  `;
  together['subject.ts'] = "export const subject = { speak: (): string => 'true' };";

  it('a spec leaves no spy and no time limit to the next file', () => {
    for (const [name, title] of [
      ['spying-one.spec.ts', 'spies'],
      ['spying-two.spec.ts', 'hears it, late'],
    ] as const)
      expect(fileOf(report, name).assertionResults).toMatchObject([{ title, status: 'passed' }]);
  });

  const logging = `
    import { expect, it } from '@jest/globals';
    import { Logger } from '@nestjs/common';
    import { LineBudget } from '../../../src/logging/index.js';
    import { SystemClock } from '../../../src/time/index.js';
    import { expected, lines } from './lines.js';
    it('logs', () => {
      new Logger().warn('nobody hears this');
      expect(lines).toEqual(expected);
      const keep = (line: string): number => lines.push(line);
      Logger.overrideLogger({ log: keep, error: keep, warn: keep });
      const report = (): unknown => lines.push('left out');
      new LineBudget({ lines: 0, windowMs: 60_000, report }, new SystemClock()).admits('a kind');
      expected.push('left out');
    });
  `;
  together['lines.ts'] = 'export const [lines, expected]: [string[], string[]] = [[], []];';
  together['logging-one.spec.ts'] = logging;
  together['logging-two.spec.ts'] = logging;

  it('a spec finds no logger of the file before it, and nothing that is still left out of the log', () => {
    const files = ['logging-one.spec.ts', 'logging-two.spec.ts'].map((name) => fileOf(report, name));
    expect(files.map(({ message }) => message)).toEqual(['', '']);
  });

  together['hooked.ts'] = "import { afterEach } from '@jest/globals'; afterEach(() => undefined);";
  together['hooked.spec.ts'] = "import { it } from '@jest/globals'; import './hooked.js'; it('runs', () => undefined);";

  it('a spec is refused when a module that files share registers a hook while it is imported', () => {
    const { message } = fileOf(report, 'hooked.spec.ts');
    expect(message).toContain('afterEach is called while a module is imported that other files share');
  });

  together['slow.spec.ts'] = "// Slow: waits.\nimport { it } from '@jest/globals'; it('runs', () => undefined);";

  it('a spec that says why it is slow runs before larger ones that do not', () => {
    expect(report.testResults.map(({ name }) => basename(name))[0]).toBe('slow.spec.ts');
  });

  it('a spec obeys -t', async () => {
    const spec = "import { it } from '@jest/globals'; it('this', () => undefined); it('that', () => undefined);";
    const { assertionResults } = fileOf(await run({ 'one.spec.ts': spec }, ['-t', 'that']));
    expect(assertionResults.map(({ status }) => status)).toEqual(['pending', 'passed']);
  });
});

describe('a thread of a spec', () => {
  it('a thread of a spec reads TypeScript, which the next one finds without types', async () => {
    const own = await mkdtemp(join(directory, 'threads-'));
    await writeFile(join(own, 'thread.ts'), "const text: string = 'read'; console.log(text);");
    const start = "new (await import('node:worker_threads')).Worker(new URL('thread.ts', import.meta.url));";
    await writeFile(join(own, 'main.mjs'), start);
    const env = { ...process.env, ANTIPHON_CACHE: own, NODE_COMPILE_CACHE: undefined };
    const node = [`--import=${join(HERE, 'typescript.ts')}`, join(own, 'main.mjs')];
    const { stdout } = await promisify(execFile)(process.execPath, node, { env });
    expect(stdout).toBe('read\n');
    const kept = await readdir(join(own, 'tests'));
    expect(kept.filter((name) => name.endsWith('.stripped.js'))).toHaveLength(1);
  });
});

describe('what a test leaves open', () => {
  const OPENINGS = {
    'a server': [
      "import { createServer } from 'node:net';",
      'await new Promise<void>((resolve) => createServer().listen(0, resolve));',
      'a server that listens on',
    ],
    'a timer': ['', 'setTimeout(() => undefined, 1e6);', 'a timer'],
    'a child process': ["import { spawn } from 'node:child_process';", "spawn('sleep', ['20']);", 'sleep 20'],
    'a thread': [
      "import { Worker } from 'node:worker_threads';",
      "new Worker('setInterval(() => {}, 1e6)', { eval: true });",
      'a thread',
    ],
    'a listener on process': [
      '',
      "process.on('SIGUSR2', function listener() {});",
      'a listener on process for SIGUSR2',
    ],
    'a temporary folder': [
      "import { mkdtempSync } from 'node:fs'; import { tmpdir } from 'node:os'; import { join } from 'node:path';",
      "mkdtempSync(join(tmpdir(), 'antiphon-one-'));",
      'the folder antiphon-one-',
    ],
  };
  const spec = Object.entries(OPENINGS).map(
    ([name, [imports, opening]]) => `${imports}\nit('opens ${name}', async () => {\n${opening}\n});`,
  );

  const closes =
    "it('closes what it opened', async () => { const server = createServer().listen(0); await new Promise((resolve) => server.close(resolve)); });";
  const inHook =
    "import { beforeAll, it } from '@jest/globals'; beforeAll(() => void setTimeout(() => undefined, 1e6)); it('runs', () => undefined);";
  let report: Report;

  beforeAll(async () => {
    const inTests = ["import { it } from '@jest/globals';", ...spec, closes].join('\n');
    report = await run({ 'tests.spec.ts': inTests, 'hook.spec.ts': inHook }, ['--forceExit']);
  });

  it('what a test leaves open fails the test that opened it, and no other', () => {
    const { assertionResults } = fileOf(report, 'tests.spec.ts');
    expect(assertionResults).toMatchObject([
      ...Object.entries(OPENINGS).map(([name, [, , message]]) => ({
        title: `opens ${name}`,
        status: 'failed',
        failureMessages: expect.arrayContaining([expect.stringContaining(`${message}`)]),
      })),
      { title: 'closes what it opened', status: 'passed' },
    ]);
  });

  it('what a test leaves open fails the file when a hook opened it', () => {
    expect(fileOf(report, 'hook.spec.ts').message).toContain('a timer is left open');
  });
});
