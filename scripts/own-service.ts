import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LISTENS = /Antiphon listens on (http:\S+)/;

/** How a service ended: with an exit code, or by a signal. */
export type Ended = number | NodeJS.Signals;

/** A service of a command's own, in front of the simulator. It ends with the command. */
export class OwnService implements AsyncDisposable {
  private readonly child: ChildProcess;
  /** Where its API begins. */
  readonly baseURL: string;
  /** Resolves when it is gone. */
  readonly ended: Promise<Ended>;

  private constructor(child: ChildProcess, baseURL: string, ended: Promise<Ended>) {
    this.child = child;
    this.baseURL = baseURL;
    this.ended = ended;
  }

  /**
   * Starts the built service with these variables; without others, on a free port and with its state in memory. What it writes
   * after its start goes to `log`, which by default is stderr, for its errors. Throws with all it wrote when it does not start.
   */
  static async start(environment: Readonly<Record<string, string>>, log?: Writable): Promise<OwnService> {
    const child = spawn(process.execPath, ['--enable-source-maps', PROGRAM], {
      // Away from a developer's `.env`.
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], STATE: 'memory', HOST: '127.0.0.1', PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', log === undefined ? 'inherit' : 'pipe'],
    });
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    const ended = once(child, 'close').then(([code, signal]) => {
      process.off('exit', kill);
      return (code ?? signal) as Ended;
    });
    if (log !== undefined) for (const stream of [child.stdout, child.stderr]) stream?.pipe(log, { end: false });
    let output = '';
    const baseURL = new Promise<string>((resolve) => {
      const look = (chunk: Buffer): void => {
        output += chunk.toString();
        const [, origin] = LISTENS.exec(output) ?? [];
        if (origin === undefined) return;
        child.stdout?.off('data', look).resume();
        child.stderr?.off('data', look).resume();
        resolve(`${origin}/v1`);
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
    });
    const found = await Promise.race([baseURL, ended]);
    if (typeof found !== 'string' || !found.startsWith('http'))
      throw new Error(`the service did not start (${found}):\n${output}`);
    return new OwnService(child, found, ended);
  }

  /** Sends it a signal. Resolves when it is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM');
  }
}
