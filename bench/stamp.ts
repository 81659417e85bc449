/** What begins a stamped delta; nothing else in an answer has it. */
export const STAMP_MARK = '@';

const RADIX = 36;

/**
 * A piece of text about as long as a token that says when it was written: whoever has it can say how long it took. Processes of
 * one machine share the clock.
 */
export function makeStamp(): string {
  return ` ${STAMP_MARK}${Math.round(monotonicMilliseconds() * 1000).toString(RADIX)}`;
}

/** When the stamp behind a mark was made, in `monotonicMilliseconds`. `end` is the quote that ends the text. */
export function readStamp(text: string, mark: number, end: number): number {
  return Number.parseInt(text.slice(mark + 1, end), RADIX) / 1000;
}

/** A clock that only goes forward and is the same in every process of this machine, ms. */
export function monotonicMilliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
