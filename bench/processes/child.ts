import { type ChildProcess, execFile, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';

import type { MemoryAnswer, MemoryQuestion, UsageAnswer, UsageQuestion } from './messages.ts';

const PRELOAD = new URL('report-usage.ts', import.meta.url).href;

/** What Node is told by `npm start`: every program that is measured runs with it, floors as well. */
export const START_FLAGS: readonly string[] = ['--enable-source-maps', '--max-semi-space-size=64'];

/** How programs are run: as with `npm start`, and with somebody in the process who answers questions. */
export const EXEC_ARGV: readonly string[] = [...START_FLAGS, '--import', PRELOAD];

const running = new Set<ChildProcess>();

// However the benchmark ends, nothing that it started stays behind.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A program of the benchmark in a process of its own. It is asked one thing at a time. */
export class Child implements AsyncDisposable {
  protected readonly process: ChildProcess;
  private readonly name: string;
  private readonly exited: Promise<unknown>;

  /** Starts a module with these environment variables only. Without EXEC_ARGV it cannot be asked anything. */
  constructor(
    name: string,
    module: URL,
    environment: Readonly<Record<string, string>> = {},
    execArgv: readonly string[] = EXEC_ARGV,
  ) {
    this.name = name;
    this.process = fork(module, {
      // A developer's `.env` must not reach it.
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, ...environment },
      execArgv: [...execArgv],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    running.add(this.process);
    this.exited = once(this.process, 'exit').then(() => running.delete(this.process));
  }

  /** CPU time that the process has used since its start, µs. */
  async cpuMicroseconds(): Promise<number> {
    const question: UsageQuestion = { type: 'usage' };
    return (await this.ask<UsageAnswer>(question)).cpuMicroseconds;
  }

  /** What the process has in memory when everything is freed that is not in use. */
  async memory(): Promise<MemoryAnswer> {
    const question: MemoryQuestion = { type: 'memory' };
    return await this.ask<MemoryAnswer>(question);
  }

  /** What all of the process has in RAM, bytes, as the system sees it: the process need not answer. */
  async residentBytes(): Promise<number> {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(this.process.pid)]);
    return Number(stdout) * 1024;
  }

  /** Ends the process at once and waits until it is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited;
  }

  /** Sends a message and gives the next one that comes back. */
  protected async ask<Answer>(question: Serializable): Promise<Answer> {
    const answer = once(this.process, 'message');
    this.process.send(question);
    const [message] = (await this.orEnd(answer)) as [Answer];
    return message;
  }

  /** Waits for something that a process that has ended will never give. */
  protected orEnd<Value>(promise: Promise<Value>): Promise<Value> {
    const ended = this.exited.then(() => {
      throw new Error(`${this.name} ended before it answered`);
    });
    return Promise.race([promise, ended]);
  }
}
