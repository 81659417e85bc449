/**
 * Jest's `runtime` for specs that share the modules of their worker: Node imports them, and what one spec has imported the next one finds.
 * Jest's own runtime imports the whole service again for every file.
 */
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

/** What jest's runner and circus call of a runtime. Coverage is not collected: Node does that itself, with NODE_V8_COVERAGE. */
export default class SharedRuntime {
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
    return createRequire(import.meta.url)(path);
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
