/** An invalid command line. Its message is one line. */
export class OptionError extends Error {}

/** The value of an option that counts something. Throws an OptionError. */
export function readCount(name: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new OptionError(`${name}: expected a whole number above 0, but got '${text}'`);
}
