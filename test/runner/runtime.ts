/**
 * Jest's `runtime` for specs that share the modules of their worker: Node imports them, and what one spec has imported the next one finds.
 * Jest's own runtime imports the whole service again for every file.
 */
import { readFileSync } from 'node:fs';
import { createRequire, flushCompileCache } from 'node:module';
import { pathToFileURL } from 'node:url';

import type { JestEnvironment } from '@jest/environment';
import type { Config } from '@jest/types';

import { setGlobals } from './globals.js';
import { sourceMaps } from './typescript.js';

const require = createRequire(import.meta.url);

/** Where jest's circus finds the time limit of a file. */
const TIME_LIMIT = Symbol.for('TEST_TIMEOUT_SYMBOL');
/** The symbols under which it keeps its state in the global object: that of the state is another one for each file. */
const CIRCUS = new Set(['JEST_STATE_SYMBOL', 'EVENT_HANDLERS', TIME_LIMIT.description]);

/** What runs a file in circus: the rest of the module is jest's own affair. */
interface Circus {
  readonly runAndTransformResultsToJestFormat: (options: unknown) => Promise<object>;
}

/** What jest's runner and circus call of a runtime. Coverage is not collected: Node does that itself, with NODE_V8_COVERAGE. */
export default class SharedRuntime {
  private readonly usedBefore = usedCpuMs();

  constructor(
    _config: Config.ProjectConfig,
    private readonly environment: JestEnvironment,
  ) {}

  setGlobalsForRuntime(globals: Omit<Parameters<typeof setGlobals>[0], 'jest'>): void {
    const { moduleMocker: mocker } = this.environment;
    if (mocker === null) throw new Error('the environment has no module mocker');
    const jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      setTimeout: (ms: number) => Reflect.set(globalThis, TIME_LIMIT, ms),
    };
    setGlobals({ ...globals, jest } as unknown as Parameters<typeof setGlobals>[0]);
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(path: string): Promise<unknown> {
    return import(pathToFileURL(path).href);
  }

  /** Circus itself, anew for every file: its state is in its module. What holds the former one holds its tests, and their services. */
  requireInternalModule(path: string): unknown {
    for (const symbol of Object.getOwnPropertySymbols(globalThis))
      if (CIRCUS.has(symbol.description)) Reflect.deleteProperty(globalThis, symbol);
    Reflect.deleteProperty(require.cache, path);
    // Each `require` lists all that it gave.
    const circus = createRequire(import.meta.url)(path) as Circus;
    const run: Circus['runAndTransformResultsToJestFormat'] = async (options) => {
      const result = await circus.runAndTransformResultsToJestFormat(options);
      return { ...result, cpuMs: usedCpuMs() - this.usedBefore };
    };
    return { ...circus, runAndTransformResultsToJestFormat: run };
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  getSourceMaps(): Map<string, string> {
    return sourceMaps;
  }

  getAllCoverageInfoCopy(): undefined {
    return undefined;
  }

  enterTestCode(): void {
    // Jest's own forbids the import of modules between tests.
  }

  leaveTestCode(): void {
    // As above.
  }

  /** What is shared stays, and is written for other workers: jest ends this one before it could be written at its end, which takes seconds. */
  teardown(): void {
    flushCompileCache();
  }
}

/** The CPU that this process has used, and the processes of its tests that have ended, ms. Elsewhere than on Linux these count nothing. */
function usedCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + (process.platform === 'linux' ? usedByChildrenMs() : 0);
}

function usedByChildrenMs(): number {
  // What follows the name of the program begins with field 3; 16 and 17 are hundredths of a second.
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(13, 15).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}
