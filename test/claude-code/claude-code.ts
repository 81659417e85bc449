import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { HangUpServer } from '../support/hang-up-server.js';
import { commandOf } from '../support/run-with-cli.js';

/** A line of `claude -p --output-format stream-json`. */
export interface ClaudeEvent {
  readonly type: string;
  readonly session_id?: string;
  /** Of the last line: whether the task failed, and what is said at its end. */
  readonly is_error?: boolean;
  readonly result?: string;
}

/** How a run of Claude Code ended. */
export interface ClaudeRun {
  /** 0 if it has done its task. */
  readonly code: number | null;
  readonly events: readonly ClaudeEvent[];
  /** The last line. */
  readonly result: ClaudeEvent | undefined;
  readonly stderr: string;
}

/** A Claude Code of its own: a home and a folder to work in. It can reach nothing but this machine. */
export class ClaudeCode implements AsyncDisposable {
  private constructor(
    private readonly origin: string,
    private readonly folder: string,
    private readonly proxy: HangUpServer,
  ) {}

  /** Installs nothing: the program is the one that CLAUDE_CODE_PROGRAM names. */
  static async create(origin: string): Promise<ClaudeCode> {
    const claude = new ClaudeCode(
      origin,
      await mkdtemp(join(tmpdir(), 'antiphon-claude-')),
      await HangUpServer.start(),
    );
    await Promise.all([mkdir(claude.home), mkdir(claude.work)]);
    return claude;
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

  /** Runs a task to its end; it may use the shell and files. */
  async exec(task: string, ...options: readonly string[]): Promise<ClaudeRun> {
    const { CLAUDE_CODE_PROGRAM: program, PATH } = process.env;
    if (program === undefined) throw new Error('CLAUDE_CODE_PROGRAM is not set: run `npm run test:claude-code`');
    const [command, ...first] = commandOf(program);
    const form = ['--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash,Read,Edit,Write,WebSearch'];
    const child = spawn(command, [...first, '-p', task, ...form, ...options], {
      cwd: this.work,
      env: {
        ...{ PATH, HOME: this.home, CLAUDE_CONFIG_DIR: join(this.home, '.claude') },
        ...{ ANTHROPIC_BASE_URL: this.origin, ANTHROPIC_AUTH_TOKEN: 'any' },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
        ...this.proxy.proxyVariables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const [code] = (await once(child, 'close')) as [number | null];
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    const events = lines.map((line) => JSON.parse(line) as ClaudeEvent);
    return { code, events, result: events.findLast(({ type }) => type === 'result'), stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
