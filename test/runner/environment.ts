import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { EnvironmentContext, JestEnvironmentConfig } from '@jest/environment';
import type { Circus } from '@jest/types';
import { Logger } from '@nestjs/common';
import { ModuleMocker } from 'jest-mock';

import { LineBudget } from '../../src/logging/index.js';
import { Leftovers } from './leftovers.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Jest replaces it while a file runs. */
const exit = process.exit.bind(process);

// Only a worker has a parent that it is connected with. Node would take its heap apart, for which the run would wait.
if (process.connected) process.once('beforeExit', () => exit());

let hasRunFile = false;

/**
 * Ends this worker if its heap is larger than the limit, so that jest sends the file, which has not begun, to a new one. Jest's own
 * `workerIdleMemoryLimit` looks while the worker's next file runs, and ends that with SIGTERM: its services shut down in the middle of a test.
 */
function endGrownWorker(limitMegabytes: number): void {
  if (hasRunFile && process.connected && process.memoryUsage().heapUsed > limitMegabytes * 2 ** 20) exit(1);
  hasRunFile = true;
}

/** Jest's `testEnvironment` for specs that share the modules of their worker: they have the worker's own globals. */
export default class SharedEnvironment {
  readonly global = globalThis;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern = null;
  private readonly path: string;
  private readonly patienceMs: number | undefined;
  private readonly console = globalThis.console;
  private readonly exit = Object.getOwnPropertyDescriptor(process, 'exit');
  private readonly temporary = process.env['TMPDIR'];
  /** Where the tests of the file make temporary folders. */
  private directory = '';
  private leftovers: Leftovers<Circus.TestEntry> | undefined;

  constructor({ projectConfig }: JestEnvironmentConfig, { testPath }: EnvironmentContext) {
    const options = projectConfig.testEnvironmentOptions as {
      readonly patienceMs?: number;
      readonly heapMegabytes: number;
    };
    endGrownWorker(options.heapMegabytes);
    this.path = testPath;
    this.patienceMs = options.patienceMs;
  }

  /** The log is the one thing of the process that services set and use: Nest keeps the logger of the last application. */
  async setup(): Promise<void> {
    Logger.overrideLogger(false);
    // What services of earlier files left out is said to nobody.
    LineBudget.endAll();
    this.directory = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    // PostgreSQL runs as another user.
    chmodSync(this.directory, 0o755);
    process.env['TMPDIR'] = this.directory;
  }

  /** Circus waits for what this returns, except where a hook is added: there it catches only what is thrown at once. */
  handleTestEvent(event: Circus.Event, state: Circus.State): Promise<void> | undefined {
    if (event.name === 'add_hook') this.requireOwnHook(event.hookType, event.asyncError);
    // What a module opens when it is imported is the worker's, once.
    if (event.name === 'run_start') this.leftovers = new Leftovers(this.directory, this.patienceMs);
    if (event.name === 'test_start') this.leftovers?.look(null);
    if (event.name === 'test_done') this.leftovers?.look(event.test);
    return event.name === 'run_finish' ? this.failForLeftovers(state) : undefined;
  }

  async teardown(): Promise<void> {
    // Jest has replaced both for this file.
    globalThis.console = this.console;
    if (this.exit !== undefined) Object.defineProperty(process, 'exit', this.exit);
    this.moduleMocker.restoreAllMocks();
    if (this.temporary === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = this.temporary;
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** There is none: jest asks for the method and not for what it gives. */
  getVmContext(): null {
    return null;
  }

  /** Throws for a hook that a module registers while it is imported: that happens for the first of the files that share it. */
  private requireOwnHook(hookType: string, { stack = '' }: Error): void {
    const ours = stack.split('\n').filter((line) => line.includes(ROOT) && !line.includes('node_modules'));
    if (ours.length === 0 || ours.some((line) => line.includes(this.path))) return;
    throw new Error(
      `${hookType} is called while a module is imported that other files share. Export a function that they call.`,
    );
  }

  /** Fails each test that left something open, and the file where a hook did. */
  private async failForLeftovers(state: Circus.State): Promise<void> {
    for (const { what, owner } of (await this.leftovers?.atEnd()) ?? []) {
      const error = new Error(`${what} is left open`);
      // Where it was opened is not known.
      error.stack = error.message;
      if (owner === null) state.unhandledErrors.push(error);
      else owner.errors.push(error);
    }
  }
}
