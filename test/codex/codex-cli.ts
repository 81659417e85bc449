import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

import { HangUpServer } from '../support/hang-up-server.js';

/** A line of `codex exec --json`. */
export interface CodexEvent {
  readonly type: string;
  readonly thread_id?: string;
  readonly item?: { readonly type: string; readonly text?: string; readonly [member: string]: unknown };
  readonly message?: string;
}

/** How a Codex is configured. */
export interface CodexOptions {
  readonly supportsWebsockets: boolean;
  /** From so many tokens of context on it has its context compacted by the provider, which it then takes for OpenAI. */
  readonly compactsFrom?: number;
}

/** How a run of Codex ended. */
export interface CodexRun {
  /** 0 if its turn succeeded; null if it was killed. */
  readonly code: number | null;
  readonly events: readonly CodexEvent[];
  readonly stderr: string;
}

/** A run of Codex that may not be over. */
export interface BegunRun {
  /** Resolves with the id of its session. Rejects if it ends without one. */
  readonly session: Promise<string>;
  readonly ended: Promise<CodexRun>;
  /** Kills it with all that it started. */
  readonly kill: () => void;
}

/** A Codex of its own: a home, a folder to work in, and one provider. It can reach nothing but this machine. */
export class CodexCli implements AsyncDisposable {
  private readonly running = new Set<BegunRun>();

  private constructor(
    private readonly folder: string,
    private readonly proxy: HangUpServer,
  ) {}

  /** Installs nothing: the program is the one that CODEX_PROGRAM names. */
  static async create(baseUrl: string, options: CodexOptions): Promise<CodexCli> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-codex-'));
    const codex = new CodexCli(folder, await HangUpServer.start());
    await Promise.all([mkdir(codex.home), mkdir(codex.work)]);
    await writeFile(join(codex.home, 'config.toml'), toConfiguration(baseUrl, options));
    return codex;
  }

  /** The folder in which it works. */
  get work(): string {
    return join(this.folder, 'work');
  }

  /** What it tried to reach outside of this machine. */
  get strayed(): readonly string[] {
    return this.proxy.requests;
  }

  private get home(): string {
    return join(this.folder, 'home');
  }

  /** Runs `codex exec` to its end. */
  exec(...args: readonly string[]): Promise<CodexRun> {
    return this.begin(...args).ended;
  }

  /** Starts `codex exec`. */
  begin(...args: readonly string[]): BegunRun {
    const { CODEX_PROGRAM: program } = process.env;
    if (program === undefined) throw new Error('CODEX_PROGRAM is not set: run `npm run test:codex`');
    const options = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    const child = spawn(program, ['exec', ...options, ...args], {
      cwd: this.work,
      env: { PATH: process.env.PATH, HOME: this.home, CODEX_HOME: this.home, ...this.proxy.proxyVariables },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, which `kill` ends: the program of the package only starts the real one.
      detached: true,
    });
    const run = follow(child);
    this.running.add(run);
    void run.ended.then(() => this.running.delete(run));
    return run;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = [...this.running];
    for (const run of left) run.kill();
    await Promise.all(left.map(({ ended }) => ended));
    await this.proxy.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function follow(child: ChildProcessByStdio<null, Readable, Readable>): BegunRun {
  let stdout = '';
  let stderr = '';
  const session = Promise.withResolvers<string>();
  // Not every test asks for it.
  session.promise.catch(() => undefined);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const started = /^\{"type":"thread\.started","thread_id":"([^"]+)"/.exec(stdout);
    if (started !== null) session.resolve(String(started[1]));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code]): CodexRun => {
    session.reject(new Error(`Codex ended before its session began:\n${stdout}${stderr}`));
    const lines = stdout.split('\n').filter((line) => line !== '');
    return { code: code as number | null, events: lines.map((line) => JSON.parse(line) as CodexEvent), stderr };
  });
  const kill = (): void => {
    try {
      process.kill(-Number(child.pid), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  return { session: session.promise, ended, kill };
}

/** Settings for a run that nobody watches, with a provider of our own. */
function toConfiguration(baseUrl: string, { supportsWebsockets, compactsFrom }: CodexOptions): string {
  const limit = compactsFrom === undefined ? '' : `model_auto_compact_token_limit = ${compactsFrom}`;
  // By this name Codex knows who can compact.
  const name = compactsFrom === undefined ? 'Antiphon' : 'OpenAI';
  return `
    model = "gpt-5.5"
    model_provider = "antiphon"
    check_for_update_on_startup = false
    ${limit}

    [analytics]
    enabled = false

    [features]
    unbounded_connection_retries = false
    plugins = false
    apps = false

    [model_providers.antiphon]
    name = "${name}"
    base_url = "${baseUrl}"
    wire_api = "responses"
    supports_websockets = ${supportsWebsockets}
    # A service that starts again on a busy machine needs some seconds.
    stream_max_retries = 9
  `;
}
