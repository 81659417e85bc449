import { stat } from 'node:fs/promises';

import type { Logger } from '@nestjs/common';

import type { Clock, Timer } from '../time/index.js';
import { firstLineOf } from './data-file.js';

/** The variables that name files which are read again on SIGHUP. */
export const RELOADED_FILES = ['KEYS_FILE', 'LIMITS_FILE', 'MCP_SERVERS', 'PROMPTS_FILE', 'PROVIDERS_FILE'] as const;

/** A file that a variable names, and what it holds. */
export interface FileContent<T> {
  readonly variable: (typeof RELOADED_FILES)[number];
  readonly path: string;
  /** What it holds in one word, such as `keys`. */
  readonly what: string;
  /** Throws EnvironmentError, which names the place of the fault. */
  readonly read: () => Promise<T>;
  readonly count: (content: T) => number;
}

/** How often a file is looked at, ms. */
const CHECK_MS = 2000;

/**
 * What a file holds, which is read again when it changes, and on SIGHUP. What was read before stays when it cannot be read: an operator who
 * makes a mistake must not lock everybody out.
 */
export class ReloadedFile<T> {
  private seen: string | undefined;
  private timer: Timer | null = null;
  private work: Promise<void> = Promise.resolve();
  private readonly onSighup = (): void => void this.reload();

  /** `content` is what counts until the file was read. Both outcomes of a reading are lines of the log. */
  constructor(
    private readonly file: FileContent<T>,
    private content: T,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  get current(): T {
    return this.content;
  }

  /** Reads the file, and begins to watch it. Throws EnvironmentError when it cannot be read or is not valid. */
  async start(): Promise<void> {
    // Before: what changes while it is read is a change.
    this.seen = await this.version();
    this.content = await this.file.read();
    process.on('SIGHUP', this.onSighup);
    this.timer = this.clock.schedule(CHECK_MS, () => void this.check());
  }

  stop(): void {
    process.off('SIGHUP', this.onSighup);
    this.timer?.cancel();
    this.timer = null;
  }

  private async check(): Promise<void> {
    if ((await this.version()) !== this.seen) await this.reload();
    this.timer?.refresh();
  }

  /** Reads the file again, after a reading that is under way. */
  private reload(): Promise<void> {
    return (this.work = this.work.then(() => this.read()));
  }

  private async read(): Promise<void> {
    const { variable, what, read, count } = this.file;
    this.seen = await this.version();
    try {
      this.content = await read();
      this.logger.log(`${variable} was read again (${what}: ${count(this.content)})`);
    } catch (error) {
      this.logger.error(`${firstLineOf(error)}; the ${what} so far stay`);
    }
  }

  /** Mounted secrets and config maps change their inode: the time and size tell. Undefined while there is no file. */
  private async version(): Promise<string | undefined> {
    try {
      const { mtimeMs, size, ino } = await stat(this.file.path);
      return `${mtimeMs} ${size} ${ino}`;
    } catch {
      return undefined;
    }
  }
}
