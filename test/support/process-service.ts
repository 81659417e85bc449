import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { RawClient } from './raw-client.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** How a process ended, and all it wrote. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built service as a process of its own. */
export interface ServiceProcess {
  readonly port: number;
  readonly origin: string;
  readonly client: RawClient;
  /** Resolves when the process is gone. */
  readonly exited: Promise<Exit>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly exited: Promise<Exit>;
}

const running = new Set<Running>();

/** Ends every process that is left, also those that hang. For `afterEach`: a test that fails leaves its processes behind. */
export async function endProcesses(): Promise<void> {
  const left = [...running];
  for (const { child } of left) child.kill('SIGKILL');
  await Promise.all(left.map(({ exited }) => exited));
}

function run(environment: Readonly<Record<string, string>>): Running {
  // Neither the variables of the test run nor a developer's `.env` may reach it.
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    cwd: tmpdir(),
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
  const entry = { child, exited };
  running.add(entry);
  void exited.then(() => running.delete(entry));
  return entry;
}

/** Runs the service with these variables only, and waits until it ends by itself. */
export function runToEnd(environment: Readonly<Record<string, string>>): Promise<Exit> {
  return run(environment).exited;
}

/** Starts the service with these variables only, on a free port unless PORT says otherwise. */
export async function startProcess(environment: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  const { child, exited } = run({ PORT: '0', ...environment });
  const listening = new Promise<string>((resolve) => {
    let text = '';
    child.stdout.on('data', (chunk: string) => {
      text += chunk;
      const origin = /Antiphon listens on ([^\s"]+)/.exec(text)?.[1];
      if (origin !== undefined) resolve(origin);
    });
  });
  const died = exited.then(({ stdout, stderr }) => {
    throw new Error(`the service ended before it listened:\n${stdout}\n${stderr}`);
  });
  const origin = await Promise.race([listening, died]);
  died.catch(() => undefined);
  const port = Number(new URL(origin).port);
  const client = new RawClient(port);
  void exited.then(() => client.close());
  return {
    port,
    origin,
    client,
    exited,
    kill: (signal) => void child.kill(signal),
  };
}
