import { type ChildProcess, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';

import type { UsageAnswer, UsageQuestion } from './messages.ts';

const PRELOAD = new URL('report-usage.ts', import.meta.url).href;

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

  /** Starts a module with these environment variables only. */
  constructor(name: string, module: URL, environment: Readonly<Record<string, string>> = {}) {
    this.name = name;
    this.process = fork(module, {
      // A developer's `.env` must not reach it.
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, ...environment },
      // Source maps as with `npm start`.
      execArgv: ['--enable-source-maps', '--import', PRELOAD],
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
