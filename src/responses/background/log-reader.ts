import type { StreamEvent } from '../../protocol/index.js';
import { type LogPage, StoreUnavailableError } from '../../state/index.js';
import type { LogEvents } from './followed-log.js';

type Events = readonly StreamEvent[];

/** The events that follow are stored no longer: the stream cannot come to its end. */
export class StreamGoneError extends Error {
  override readonly name = 'StreamGoneError';
}

/** The dependencies of a reader. */
export interface LogSource {
  /** The events after a number. */
  readonly read: (after: number) => Promise<LogPage | undefined>;
  /** The events after a number, if they are known without a read. */
  readonly known: (after: number) => LogEvents | undefined;
  /** Calls back with the next change of the log. */
  readonly wait: (wake: () => void) => void;
  /** A read has failed; it is repeated with the next change. */
  readonly retry: (error: unknown) => void;
  readonly leave: () => void;
}

/** One reader of a log: the events of one response, page by page. */
export class LogReader {
  private isClosed = false;
  private isOver = false;
  private wake: () => void = () => undefined;

  constructor(
    private page: LogEvents | null,
    private after: number,
    private readonly source: LogSource,
  ) {}

  /**
   * Resolves with the next events as soon as there are some; undefined after the last, and once it is closed. Rejects with
   * StreamGoneError.
   */
  async next(): Promise<Events | undefined> {
    while (!this.isClosed && !this.isOver) {
      // Asked first, so that no change during the read is missed.
      const changed = new Promise<void>((resolve) => {
        this.wake = resolve;
        this.source.wait(resolve);
      });
      const page = this.page ?? this.source.known(this.after) ?? (await this.read());
      this.page = null;
      if (page === null) {
        await changed;
        continue;
      }
      this.isOver = page.isLast;
      const last = page.events.at(-1);
      if (last === undefined) {
        if (!page.isLast) await changed;
        continue;
      }
      this.after = last.sequenceNumber;
      return page.events;
    }
    return undefined;
  }

  /** The reader has left. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.source.leave();
    this.wake();
  }

  /** Null while the store is not available. Rejects when the response was deleted meanwhile, or its events were. */
  private async read(): Promise<LogEvents | null> {
    try {
      const page = await this.source.read(this.after);
      if (page === undefined || 'missing' in page) throw new StreamGoneError();
      return page;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.source.retry(error);
      return null;
    }
  }
}
