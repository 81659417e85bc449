/** The exit code of programs whose output nobody reads any more: 128 and the number of SIGPIPE. */
const UNREAD = 141;

/** Characters that may wait for the reader of a stream, such as one that stands still with its pipe open. */
const MOST_WAITING = 1024 * 1024;

/** The streams of a log. */
export type LogStream = 'stdout' | 'stderr';

/** Lines that could not be written since the process began, by stream: it has each stream once, whatever writes to it. */
const lost: Record<LogStream, number> = { stdout: 0, stderr: 0 };

/** Of these, by stream: lines that the log has not reported yet, and why they were lost. */
const unsaid = new Map<LogStream, { lines: number; reason: string }>();

/** The streams whose readers are behind. */
const behind = new Set<LogStream>();

/** How many lines could not be written, by stream. */
export function lostLines(): Readonly<Record<LogStream, number>> {
  return lost;
}

/**
 * Takes the errors of a stream, such as EPIPE when the reader of a log has gone and ENOSPC on a full disk: without a listener, each of them ends
 * the process. Node lets such a stream be written again.
 */
export function surviveErrors(stream: LogStream): void {
  if (!process[stream].listeners('error').includes(ignore)) process[stream].on('error', ignore);
}

/** Ends a command whose reader goes, as `head` does, in silence, and one whose output cannot be written, such as to a full disk, with a line. */
export function endWithReader(): void {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(UNREAD);
    process.stderr.write(`The output cannot be written: ${message}.\n`);
    process.exit(1);
  });
}

/**
 * Whether so much waits for the reader of a stream that nothing more may be written: until half of it was read. What is written to a pipe
 * that nobody reads stays in memory.
 */
export function isBehind(stream: LogStream): boolean {
  // Files have none: they are written at once.
  const waiting = (process[stream].writableLength as number | undefined) ?? 0;
  if (waiting > MOST_WAITING) behind.add(stream);
  else if (waiting <= MOST_WAITING / 2) behind.delete(stream);
  return behind.has(stream);
}

/** Counts lines that were not given to a stream, because its reader is behind. */
export function countUnread(stream: LogStream, lines: number): void {
  count(stream, lines, 'nobody reads them');
}

/**
 * Counts lines that were just given to a stream and that it could not write. Returns what is to be said once it can again: how many
 * were lost before.
 */
export function countLost(stream: LogStream, lines: number): string | undefined {
  const before = unsaid.get(stream);
  const error = process[stream].errored;
  if (error === null) {
    if (before === undefined) return undefined;
    unsaid.delete(stream);
    return `lines that could not be written here: ${before.lines} (${before.reason})`;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  count(stream, lines, code ?? message);
  return undefined;
}

function count(stream: LogStream, lines: number, reason: string): void {
  lost[stream] += lines;
  unsaid.set(stream, { lines: (unsaid.get(stream)?.lines ?? 0) + lines, reason });
}

function ignore(): void {
  // Lines that cannot be written are counted where they are written.
}
