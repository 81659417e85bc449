/** Marks a stamped delta; occurs nowhere else in an answer. */
export const STAMP_MARK = '@';

const RADIX = 36;

/**
 * A piece of text about as long as a token that contains the time of its writing, so that its reader can compute the delay.
 * Processes of one machine share the clock.
 */
export function makeStamp(): string {
  return ` ${STAMP_MARK}${Math.round(monotonicMilliseconds() * 1000).toString(RADIX)}`;
}

/** The time of a stamp, in `monotonicMilliseconds`. `end` is the index of the quote that ends the text. */
export function readStamp(text: string, mark: number, end: number): number {
  return Number.parseInt(text.slice(mark + 1, end), RADIX) / 1000;
}

/** A monotonic clock shared by all processes of this machine, ms. */
export function monotonicMilliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
