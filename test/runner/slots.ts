/**
 * Jest's `runner`: the files that compute share the workers that jest was given, two of them; those that mostly wait, for processes,
 * outages and leases, run beside them in workers of their own.
 */
import { createRequire } from 'node:module';

import type { Test, TestEvents } from '@jest/test-result';
import type { Config } from '@jest/types';
import type * as jestRunner from 'jest-runner';
import { EmittingTestRunner, type TestRunnerContext, type TestWatcher, type UnsubscribeFn } from 'jest-runner';

// What a CommonJS package exports as its default is, to a module, the package.
const { default: Runner } = createRequire(import.meta.url)('jest-runner') as typeof jestRunner.default;
type Runner = InstanceType<typeof Runner>;

/** What `runner` in jest.config.js says beside this file's path. */
interface SlotOptions {
  /** The files that mostly wait: a regular expression of their paths. */
  readonly waiting: string;
  /** How many of these run at once. */
  readonly waitingSlots: number;
}

export default class SlotRunner extends EmittingTestRunner {
  private readonly options: SlotOptions;
  private readonly computing: Runner;
  private readonly waiting: Runner;

  constructor(
    private readonly config: Config.GlobalConfig,
    context: TestRunnerContext,
    options: Record<string, unknown>,
  ) {
    super(config, context, options);
    this.options = options as unknown as SlotOptions;
    this.computing = new Runner(config, context);
    this.waiting = new Runner({ ...config, maxWorkers: this.options.waitingSlots }, context);
  }

  async runTests(tests: Test[], watcher: TestWatcher, { serial }: { readonly serial: boolean }): Promise<void> {
    // Jest would run a few quick files in its own process, whose modules stay: what a watcher saw change must be read again.
    if (this.config.runInBand) return this.computing.runTests(tests, watcher, { serial });
    const waits = new RegExp(this.options.waiting);
    const waiting = tests.filter(({ path }) => waits.test(path));
    const run = async (runner: Runner, files: Test[]): Promise<void> => {
      // A runner starts its workers, whether there is something to run or not.
      if (files.length > 0) await runner.runTests(files, watcher, { serial: false });
    };
    await Promise.all([
      run(this.waiting, waiting),
      run(
        this.computing,
        tests.filter((test) => !waiting.includes(test)),
      ),
    ]);
  }

  on<Name extends keyof TestEvents>(
    event: Name,
    listener: (data: TestEvents[Name]) => void | Promise<void>,
  ): UnsubscribeFn {
    const removals = [this.computing.on(event, listener), this.waiting.on(event, listener)];
    return () => removals.forEach((remove) => remove());
  }
}
