import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LISTENS = /Antiphon listens on (http:\S+)/;

/** A service of a command's own, in front of the simulator, with its state in memory. It ends with the command. */
export class OwnService implements AsyncDisposable {
  private readonly child: ChildProcess;
  /** Where its API begins. */
  readonly baseURL: string;

  private constructor(child: ChildProcess, baseURL: string) {
    this.child = child;
    this.baseURL = baseURL;
  }

  /** Starts the built service on a free port with these variables. Throws when it does not start. */
  static async start(environment: Readonly<Record<string, string>>): Promise<OwnService> {
    const child = spawn(process.execPath, ['--enable-source-maps', PROGRAM], {
      // Away from a developer's `.env`.
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], STATE: 'memory', HOST: '127.0.0.1', PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    process.once('exit', () => child.kill('SIGKILL'));
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += String(chunk);
      const [, origin] = LISTENS.exec(output) ?? [];
      if (origin === undefined) continue;
      child.stdout.resume();
      return new OwnService(child, `${origin}/v1`);
    }
    throw new Error(`the service did not start:\n${output}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }
}
