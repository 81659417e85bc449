/** Time that running streams take before the event loop looks for other work again, ms. */
const SLICE_MS = 1;

/** What a stream does with the pieces that have arrived for it; never throws. */
export interface RunningStream {
  readOn(): void;
}

/**
 * The streams that have pieces to read, oldest first. Their turn comes once the event loop has read all sockets, for SLICE_MS at a
 * time: a turn that begins, and the first pieces of an answer, do not wait behind all the answers that are under way.
 */
class RunningStreams {
  private waiting: RunningStream[] = [];
  private isScheduled = false;

  /** Lets a stream read soon. Call it once per reading. */
  add(stream: RunningStream): void {
    this.waiting.push(stream);
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.readSlice);
  }

  private readonly readSlice = (): void => {
    const { waiting } = this;
    const endsAt = performance.now() + SLICE_MS;
    let read = 0;
    do waiting[read++]?.readOn();
    while (read < waiting.length && performance.now() < endsAt);
    this.isScheduled = read < waiting.length;
    if (this.isScheduled) setImmediate(this.readSlice);
    waiting.splice(0, read);
  };
}

/** The streams of this process: one list, because they share an event loop. */
export const runningStreams = new RunningStreams();
