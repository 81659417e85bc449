import type { Logger } from '@nestjs/common';

import type { Clock } from '../time/index.js';
import { firstLineOf } from './data-file.js';
import { WatchedFile } from './watched-file.js';

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

/**
 * What a file holds, which is read again when it changes, and on SIGHUP. What was read before stays when it cannot be read: an operator who
 * makes a mistake must not lock everybody out.
 */
export class ReloadedFile<T> {
  private readonly watched: WatchedFile;

  /** `content` is what counts until the file was read. Both outcomes of a reading are lines of the log. */
  constructor(
    private readonly file: FileContent<T>,
    private content: T,
    clock: Clock,
    private readonly logger: Logger,
  ) {
    this.watched = new WatchedFile(file.path, clock, () => this.reload());
  }

  get current(): T {
    return this.content;
  }

  /** Reads the file, and begins to watch it. Throws EnvironmentError when it cannot be read or is not valid. */
  async start(): Promise<void> {
    this.content = await this.file.read();
    await this.watched.start();
  }

  stop(): void {
    this.watched.stop();
  }

  private async reload(): Promise<void> {
    const { variable, what, read, count } = this.file;
    try {
      this.content = await read();
      this.logger.log(`${variable} was read again (${what}: ${count(this.content)})`);
    } catch (error) {
      this.logger.error(`${firstLineOf(error)}; the ${what} so far stay`);
    }
  }
}
