import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

import type { MemoryAnswer, MemoryQuestion, UsageAnswer, UsageQuestion } from './messages.ts';
import { toResidentBytes } from './process-tree.ts';

const PRELOAD = new URL('report-usage.ts', import.meta.url).href;

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly scripts: { readonly start: string };
};

/** The words of `npm start`: all measured programs, including floors, get its options and variables. */
const START = scripts.start.split(' ');

/** Node options of `npm start`. */
export const START_FLAGS: readonly string[] = START.filter((word) => word.startsWith('--'));

const START_VARIABLES = Object.fromEntries(
  START.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')),
) as Readonly<Record<string, string>>;

/** Node options of `npm start`, plus the module that reports usage. */
export const EXEC_ARGV: readonly string[] = [...START_FLAGS, '--import', PRELOAD];

const running = new Set<ChildProcess>();

// Kills child processes however the benchmark ends.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A program in a child process. Accepts one request at a time. */
export class Child implements AsyncDisposable {
  protected readonly process: ChildProcess;
  private readonly name: string;
  private readonly exited: Promise<unknown>;

  /** Starts a module with only these environment variables. Without EXEC_ARGV it answers no usage requests. */
  constructor(
    name: string,
    module: URL,
    environment: Readonly<Record<string, string>> = {},
    execArgv: readonly string[] = EXEC_ARGV,
  ) {
    this.name = name;
    this.process = fork(module, {
      // Keeps the program from loading a developer's `.env`.
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, ...START_VARIABLES, ...environment },
      execArgv: [...execArgv],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    running.add(this.process);
    this.exited = once(this.process, 'exit').then(() => running.delete(this.process));
  }

  /** CPU time of the process since its start, µs. */
  async cpuMicroseconds(): Promise<number> {
    const question: UsageQuestion = { type: 'usage' };
    return (await this.ask<UsageAnswer>(question)).cpuMicroseconds;
  }

  /** Memory usage of the process after garbage collection. */
  async memory(): Promise<MemoryAnswer> {
    const question: MemoryQuestion = { type: 'memory' };
    return await this.ask<MemoryAnswer>(question);
  }

  /** Resident set size of the process and its descendants, bytes, as reported by the system. */
  async residentBytes(): Promise<number> {
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${this.name} did not start`);
    return await toResidentBytes(pid);
  }

  /** Kills the process and waits for its exit. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited;
  }

  /** Sends a message and resolves with the next one received. */
  protected async ask<Answer>(question: Serializable): Promise<Answer> {
    const answer = once(this.process, 'message');
    this.process.send(question);
    const [message] = (await this.orEnd(answer)) as [Answer];
    return message;
  }

  /** Waits for a promise. Rejects if the process exits first. */
  protected orEnd<Value>(promise: Promise<Value>): Promise<Value> {
    const ended = this.exited.then(() => {
      throw new Error(`${this.name} exited before it answered`);
    });
    return Promise.race([promise, ended]);
  }
}
