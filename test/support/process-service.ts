import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { RawClient } from './raw-client.js';
import { onStablePort } from './ports.js';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));

/** A built program: the service, or the one that only brings the schema up to date. */
export type Program = 'main.js' | 'migrate.js' | '../lib/testing.js';

/** Environment variables; an undefined one is not set. */
export type ProcessVariables = Readonly<Record<string, string | undefined>>;

/** Where a process runs. */
export interface ProcessPlace {
  readonly cwd?: string;
  /** A command that runs the one that follows it, such as `nsenter` with its arguments. */
  readonly wrapper?: readonly string[];
  /** Where the service says its URL; by default in the line of a start. */
  readonly announced?: RegExp;
}

/** What is found in all that a process wrote. */
export type Wanted = RegExp | ((output: string) => boolean);

/** How a process ended, and all it wrote. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built service as a process of its own. */
export interface ServiceProcess {
  readonly pid: number;
  readonly port: number;
  readonly origin: string;
  readonly client: RawClient;
  /** Resolves once all that it has written fits; rejects when it ends without. */
  readonly written: (wanted: Wanted) => Promise<void>;
  /** All that it has written so far, on both streams. */
  readonly output: () => string;
  /** Resolves when the process is gone, and all that write where it wrote. */
  readonly exited: Promise<Exit>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Stops reading what it writes, as a log shipper does that ends. */
  readonly closeOutput: () => void;
}

/** A process of the service that may not serve yet. */
export interface BegunProcess extends Pick<ServiceProcess, 'pid' | 'exited' | 'kill'> {
  /** Resolves with the group of the pattern in what it wrote; rejects when it ends without. */
  readonly written: (wanted: RegExp) => Promise<string>;
}

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** All that was written so far, on both streams. */
  readonly output: () => string;
  readonly exited: Promise<Exit>;
}

const running = new Set<Running>();

/** Ends every process that is left, also those that hang. For `afterEach`: a test that fails leaves its processes behind. */
export async function endProcesses(): Promise<void> {
  const left = [...running];
  for (const { child } of left) child.kill('SIGKILL');
  await Promise.all(left.map(({ exited }) => exited));
}

function run(
  environment: ProcessVariables,
  program: Program = 'main.js',
  args: readonly string[] = [],
  { cwd, wrapper }: ProcessPlace = {},
): Running {
  const command = [...(wrapper ?? []), process.execPath, '--enable-source-maps', join(DIST, program), ...args];
  // Without a state, the service would store in the directory that all tests share; and a slow machine must not end a shutdown early.
  return runCommand({ STATE: 'memory', SHUTDOWN_MARGIN_MS: '600000', ...environment }, command, cwd);
}

function runCommand(environment: ProcessVariables, [file, ...args]: readonly string[], cwd = tmpdir()): Running {
  // Neither the variables of the test run nor a developer's `.env` may reach it.
  const child = spawn(String(file), args, {
    cwd,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const exited = once(child, 'close').then(([code, signal]): Exit => {
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr };
  });
  const entry = { child, output: () => stdout + stderr, exited };
  running.add(entry);
  void exited.then(() => running.delete(entry));
  return entry;
}

/** Runs a program with STATE=memory and these variables only, the service unless another is named, and waits until it ends by itself. */
export function runToEnd(
  environment: ProcessVariables,
  program?: Program,
  args?: readonly string[],
  place?: ProcessPlace,
): Promise<Exit> {
  return run(environment, program, args, place).exited;
}

/**
 * Starts the service with STATE=memory and these variables only, on a free port unless PORT says otherwise. A `.env` in its directory
 * counts as well.
 */
export function startProcess(
  environment: ProcessVariables = {},
  args: readonly string[] = [],
  place: ProcessPlace = {},
): Promise<ServiceProcess> {
  const { announced = /Antiphon listens on ([^\s"]+)/ } = place;
  return serve(run({ PORT: '0', ...environment }, 'main.js', args, place), announced);
}

/** Starts a program by its path, on a free port. `announced` says where it finds the URL in what the program writes. */
export function startProgram(
  path: string,
  announced: RegExp,
  environment: ProcessVariables = {},
): Promise<ServiceProcess> {
  return serve(runCommand({ PORT: '0', ...environment }, [process.execPath, '--enable-source-maps', path]), announced);
}

async function serve(process: Running, announced: RegExp): Promise<ServiceProcess> {
  const { child, exited } = process;
  const origin = await written(process, announced);
  const port = Number(new URL(origin).port);
  const client = new RawClient(port);
  void exited.then(() => client.close());
  return {
    pid: child.pid as number,
    port,
    origin,
    client,
    written: async (wanted) => {
      await written(process, wanted);
    },
    output: process.output,
    exited,
    kill: (signal) => void child.kill(signal),
    closeOutput: () => {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

/** Starts the service, which need not get as far as serving. */
export function beginProcess(environment: ProcessVariables, place?: ProcessPlace): BegunProcess {
  const process = run({ PORT: '0', ...environment }, 'main.js', [], place);
  return {
    pid: process.child.pid as number,
    written: (wanted) => written(process, wanted),
    exited: process.exited,
    kill: (signal) => void process.child.kill(signal),
  };
}

/** Gives what the group of the pattern holds, or the whole match. */
function written({ child, output, exited }: Running, wanted: Wanted): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = find(wanted, output());
      if (found === undefined) return;
      child.stdout.off('data', look);
      child.stderr.off('data', look);
      resolve(found);
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    look();
    void exited.then(() => reject(new Error(`the program ended before it wrote ${String(wanted)}:\n${output()}`)));
  });
}

function find(wanted: Wanted, text: string): string | undefined {
  if (typeof wanted === 'function') return wanted(text) ? text : undefined;
  const match = wanted.exec(text);
  return match?.[1] ?? match?.[0];
}

/** A replica with its state in a database, on a port that another one can take over when it is dead. */
export function startReplica(environment: Readonly<Record<string, string>>, port?: number): Promise<ServiceProcess> {
  const start = (port: number): Promise<ServiceProcess> =>
    startProcess({
      STATE: 'postgres',
      LOG_LEVEL: 'error',
      SIMULATOR_CONTROL: 'true',
      ...environment,
      PORT: String(port),
    });
  return port === undefined ? onStablePort(start) : start(port);
}
