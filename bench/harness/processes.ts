import { type ChildProcess, execFile, fork, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';

import type { Runners } from '../load/main.ts';
import type { Answers, CountQuestion, Repetition } from './inside.ts';

/** Environment variables. */
export type Variables = Readonly<Record<string, string>>;

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly scripts: { readonly start: string };
};

/** The words of `npm start`: all measured programs, including floors, get its options and variables. */
const START = scripts.start.split(' ');
const START_VARIABLES = Object.fromEntries(
  START.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')),
) as Variables;

const BARE = START.filter((word) => word.startsWith('--'));
const MEASURED = [...BARE, '--import', new URL('inside.ts', import.meta.url).href];

/**
 * How a program is started: as `npm start` does, with what reports its usage, or so that promises and bytes can be counted: with a young
 * generation so large that nothing is freed meanwhile. The last of the flags takes precedence.
 */
const FLAGS = {
  bare: BARE,
  measured: MEASURED,
  counted: [...MEASURED, '--min-semi-space-size=256', '--max-semi-space-size=256'],
};

/** A way to start a program. */
export type Way = keyof typeof FLAGS;

const running = new Set<ChildProcess>();

// However the benchmark ends.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A process of a program. It is asked one question at a time. */
class Child implements AsyncDisposable {
  readonly process: ChildProcess;
  private readonly exited: Promise<never>;

  /** Starts a module of `bench` with only these environment variables. */
  constructor(module: string, variables: Variables = {}, way: Way = 'measured') {
    this.process = fork(new URL(`../${module}`, import.meta.url), {
      // Keeps the program from loading a developer's `.env`.
      cwd: tmpdir(),
      env: toEnvironment(variables),
      execArgv: [...FLAGS[way]],
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    running.add(this.process);
    this.exited = once(this.process, 'exit').then(() => {
      running.delete(this.process);
      throw new Error(`${module} exited before it answered`);
    });
    this.exited.catch(() => undefined);
  }

  /** Kills the process and waits for its exit. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited.catch(() => undefined);
  }

  /** Sends a message and resolves with the next one received. */
  async ask(question: Serializable): Promise<unknown> {
    const answer = once(this.process, 'message');
    this.process.send(question);
    return ((await this.orEnd(answer)) as readonly unknown[])[0];
  }

  /** Waits for a promise. Rejects if the process exits first. */
  orEnd<Value>(promise: Promise<Value>): Promise<Value> {
    return Promise.race([promise, this.exited]);
  }

  /** Resolves with the origin, without a trailing slash, of the server that the program announces next: `… listens on <URL>`. */
  listening(): Promise<string> {
    const { stdout } = this.process;
    const announced = new Promise<string>((resolve) => {
      let text = '';
      const read = (chunk: string): void => {
        text += chunk;
        const origin = /listens on (\S+)(?: .*)?\n/.exec(text)?.[1];
        if (origin === undefined) return;
        stdout?.off('data', read);
        resolve(origin);
      };
      stdout?.setEncoding('utf8').on('data', read);
    });
    return this.orEnd(announced);
  }
}

function toEnvironment(variables: Variables) {
  return { PATH: process.env.PATH, ...START_VARIABLES, ...variables };
}

/** A server under load. */
export class Server implements AsyncDisposable {
  /** When it was started, in `performance.now()`. */
  readonly startedAt: number;
  /** HTTP origin, without a trailing slash. */
  readonly origin: string;
  private readonly child: Child;

  private constructor(child: Child, startedAt: number, origin: string) {
    this.child = child;
    this.startedAt = startedAt;
    this.origin = origin;
  }

  /** Starts a module of `bench` and waits until it serves. */
  static async start(module: string, variables: Variables, way?: Way): Promise<Server> {
    const startedAt = performance.now();
    const child = new Child(module, variables, way);
    return new Server(child, startedAt, await child.listening());
  }

  /** Has the same process begin once more, with these variables, and waits until it serves that, too. One at a time. */
  async repeat(variables: Variables): Promise<Server> {
    const startedAt = performance.now();
    const origin = this.child.listening();
    this.child.process.send({ type: 'repeat', variables: toEnvironment(variables) } satisfies Repetition);
    return new Server(this.child, startedAt, await origin);
  }

  /** Ends the process. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
  }

  /** Where responses are created over HTTP. */
  get url(): string {
    return `${this.origin}/v1/responses`;
  }

  /** Where they are created over WebSocket. */
  get socketUrl(): string {
    return this.url.replace('http', 'ws');
  }

  /** What the process knows of itself. */
  async report<Question extends 'usage' | 'memory'>(type: Question): Promise<Answers[Question]> {
    return (await this.child.ask({ type })) as Answers[Question];
  }

  /** Promises or heap bytes that the server creates while `run` is running. Throws an Error if memory was freed meanwhile. */
  async count(what: CountQuestion['what'], run: () => Promise<unknown>): Promise<number> {
    await this.child.ask({ type: 'count', what, step: 'begin' });
    await run();
    const { count } = (await this.child.ask({ type: 'count', what, step: 'end' })) as Answers['count'];
    if (count === null) throw new Error('memory was freed while bytes were counted: use fewer turns');
    return count;
  }

  /** Resident set size of the process and all its descendants, bytes, as reported by the system. */
  async residentBytes(): Promise<number> {
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=']);
    const rows = Array.from(stdout.matchAll(/(\d+) +(\d+) +(\d+)/g), (row) => row.slice(1).map(Number));
    const sum = (pid: number | undefined): number =>
      rows.reduce((total, [id, parent, kilobytes = 0]) => {
        if (id === pid) return total + kilobytes * 1024;
        return parent === pid ? total + sum(id) : total;
      }, 0);
    return sum(this.child.process.pid);
  }
}

/** Sends requests to servers, in a process of its own, so that its cost is not theirs. */
export class LoadGenerator extends Child {
  /** Resolves once the process is ready. Earlier messages would be lost. */
  private readonly ready = once(this.process, 'message');

  constructor() {
    super('load/main.ts');
  }

  /** Runs a job to its end. */
  async run<Type extends keyof Runners>(
    type: Type,
    job: Parameters<Runners[Type]>[0],
  ): Promise<Awaited<ReturnType<Runners[Type]>>> {
    await this.orEnd(this.ready);
    return (await this.ask({ type, job })) as Awaited<ReturnType<Runners[Type]>>;
  }
}
