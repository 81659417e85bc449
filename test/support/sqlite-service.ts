import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { endProcesses, type ProcessPlace, type ServiceProcess, startProcess } from './process-service.js';
import { onStablePort } from './ports.js';

/** A built service over a file, which is restarted on its port. */
export class SqliteService implements AsyncDisposable {
  private constructor(
    private readonly directory: string,
    private readonly variables: Readonly<Record<string, string>>,
    private running: ServiceProcess,
    private readonly place: ProcessPlace,
  ) {}

  /** Starts it over an empty file. */
  static async start(
    variables: Readonly<Record<string, string>> = {},
    place: ProcessPlace = {},
  ): Promise<SqliteService> {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-sqlite-'));
    const whole = {
      STATE: 'sqlite',
      STATE_DIR: directory,
      LOG_LEVEL: 'error',
      SSE_KEEPALIVE_MS: '600000',
      ...variables,
    };
    const first = await onStablePort((port) => startProcess({ ...whole, PORT: String(port) }, [], place));
    return new SqliteService(directory, whole, first, place);
  }

  /** The process that runs now. */
  get process(): ServiceProcess {
    return this.running;
  }

  get port(): number {
    return this.running.port;
  }

  /** Ends the process, and starts another one. */
  async restart(signal: NodeJS.Signals): Promise<void> {
    await this.end(signal);
    await this.startAgain();
  }

  /** Ends the process. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.running.kill(signal);
    const { code, stderr } = await this.running.exited;
    if (stderr !== '' || (signal !== 'SIGKILL' && code !== 0)) throw new Error(`exit code ${String(code)}: ${stderr}`);
  }

  /** Starts another one after the end. */
  async startAgain(): Promise<void> {
    this.running = await startProcess({ ...this.variables, PORT: String(this.port) }, [], this.place);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcesses();
    await rm(this.directory, { recursive: true });
  }
}
