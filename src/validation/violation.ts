import { ApiError, type ErrorCode } from '../protocol/index.js';
import { clip } from './wording.js';

/**
 * The first violation in a value. It starts where it was found and collects its path on the way up, `text`,
 * `content[1].text`, `input[0].content[1].text`, so that valid requests do not pay for paths.
 */
export class Violation {
  private path = '';

  constructor(
    private readonly code: ErrorCode,
    private readonly describe: (path: string) => string,
  ) {}

  /** Makes it relative to the object that has the value as `member`. */
  under(member: string): this {
    return this.within(clip(member));
  }

  /** Makes it relative to the array that has the value at `index`. */
  at(index: number): this {
    return this.within(`[${index}]`);
  }

  /** The error for the client (protocol §7). */
  toError(): ApiError {
    return ApiError.of(this.code, this.describe(this.path), { param: this.path === '' ? null : this.path });
  }

  private within(place: string): this {
    const separator = this.path === '' || this.path.startsWith('[') ? '' : '.';
    this.path = `${place}${separator}${this.path}`;
    return this;
  }
}
