import { stat } from 'node:fs/promises';

import type { Clock, Timer } from '../time/index.js';

/** How often a file is looked at, ms. */
const CHECK_MS = 2000;

/** Calls back when a file has changed, and on SIGHUP. Mounted secrets and config maps change their inode: the time and size tell. */
export class WatchedFile {
  private seen: string | undefined;
  private timer: Timer | null = null;
  private work: Promise<void> = Promise.resolve();
  private readonly onSighup = (): void => void this.reload();

  /** `read` reads the file; what it rejects with is its own to report. */
  constructor(
    private readonly path: string,
    private readonly clock: Clock,
    private readonly read: () => Promise<void>,
  ) {}

  /** Begins to watch a file that was read just now. */
  async start(): Promise<void> {
    this.seen = await this.version();
    process.on('SIGHUP', this.onSighup);
    this.timer = this.clock.schedule(CHECK_MS, () => void this.check());
  }

  stop(): void {
    process.off('SIGHUP', this.onSighup);
    this.timer?.cancel();
    this.timer = null;
  }

  /** Reads the file again, after a reading that is under way. Never rejects. */
  reload(): Promise<void> {
    return (this.work = this.work.then(async () => {
      this.seen = await this.version();
      await this.read().catch(() => undefined);
    }));
  }

  private async check(): Promise<void> {
    const version = await this.version();
    if (version !== this.seen) await this.reload();
    this.timer?.refresh();
  }

  /** Undefined while there is no file. */
  private async version(): Promise<string | undefined> {
    try {
      const { mtimeMs, size, ino } = await stat(this.path);
      return `${mtimeMs} ${size} ${ino}`;
    } catch {
      return undefined;
    }
  }
}
