import { inspect } from 'node:util';

/**
 * A line of the log whose parts have names. With LOG_FORMAT=json, and in loggers of programs that take objects, they are members beside the
 * text. It is made only where it is needed.
 */
export class LogLine {
  readonly #text: () => string;

  constructor(members: Readonly<Record<string, string | number | boolean | null>>, text: () => string) {
    this.#text = text;
    Object.assign(this, members);
  }

  toString(): string {
    return this.#text();
  }

  [inspect.custom](): string {
    return this.#text();
  }
}
