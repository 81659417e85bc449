import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';

/** How a program is run: from which directory, and as whom, if not as the user who runs the tests. */
export interface RunOptions {
  readonly cwd: string;
  readonly account: Account | undefined;
}

/** How a server is ended: SIGINT ends PostgreSQL in order, SIGQUIT at once, as a crash, and SIGKILL by the kernel. */
export type EndSignal = 'SIGINT' | 'SIGQUIT' | 'SIGKILL';

/** A server, PostgreSQL unless said otherwise, that accepts connections. */
export interface ServerProcess {
  /** Resolves when it is gone, with all processes that it has started. */
  end(signal: EndSignal): Promise<void>;
  /** Sends a signal that it survives. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
}

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Resolves when the program has ended, with its exit code or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** The latest of what it wrote. */
  readonly output: () => string;
}

/** What PostgreSQL writes when it accepts connections. */
const READY = /database system is ready to accept connections/;
const KEPT_OUTPUT = 20_000;

/** Runs a program to its end. Rejects with its output unless it succeeds. */
export async function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<void> {
  const { exited, output } = run(program, args, options);
  const status = await exited;
  if (status !== 0) throw new Error(`${program} ended with ${status}:\n${output()}`);
}

/** Starts a server and waits until it writes that it is ready. Rejects with its output when it ends before. */
export async function startServer(
  program: string,
  args: readonly string[],
  options: RunOptions,
  ready = READY,
): Promise<ServerProcess> {
  const { child, exited, output } = run(program, args, options);
  const isReady = new Promise<void>((resolve) => {
    const look = (): void => {
      if (ready.test(output())) resolve();
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
  });
  const died = exited.then((status) => {
    throw new Error(`${program} ended with ${status} before it was ready:\n${output()}`);
  });
  died.catch(() => undefined);
  await Promise.race([isReady, died]);
  return {
    end: async (signal) => {
      child.kill(signal);
      await exited;
    },
    signal: (signal) => void child.kill(signal),
  };
}

function run(program: string, args: readonly string[], { cwd, account }: RunOptions): Running {
  // Without the variables of the test run: PostgreSQL reads many, PGDATA and PGOPTIONS among them.
  const child = spawn(program, args, { cwd, env: { LC_ALL: 'C' }, ...account, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (chunk: string): void => void (output = (output + chunk).slice(-KEPT_OUTPUT));
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  return { child, exited, output: () => output };
}

/** The path of a program of this machine; undefined where there is none. */
export function findOnPath(program: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.map((directory) => join(directory, program)).find((path) => existsSync(path));
}

/** A user of the operating system, by numbers. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The account that PostgreSQL has to run as: it refuses root. Undefined where it can run as whoever runs the tests. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  );
  const account = accounts.get('postgres') ?? accounts.get('nobody');
  if (account === undefined)
    throw new Error('PostgreSQL cannot run as root, and there is no account postgres or nobody');
  return account;
}

// The input ends when the process that holds the other end does, however it dies.
const SCRIPT = `read -r _
kill -QUIT "$(head -n 1 "$1/$2")"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

/**
 * Has a server ended and its directory removed should this process die first; the server writes its process id into a file
 * of the directory. Gives what calls that off.
 */
export function guardDirectory(directory: string, pidFile: string): () => void {
  // Detached, since the terminal interrupts the whole group of the test run.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'guard', directory, pidFile], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  return () => void shell.kill('SIGKILL');
}
