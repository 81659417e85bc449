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

  /** The same violation, relative to the object that has the value as `member`. */
  under(member: string): this {
    const separator = this.path === '' || this.path.startsWith('[') ? '' : '.';
    this.path = `${clip(member)}${separator}${this.path}`;
    return this;
  }

  /** The same violation, relative to the array that has the value at `index`. */
  at(index: number): this {
    const separator = this.path === '' || this.path.startsWith('[') ? '' : '.';
    this.path = `[${index}]${separator}${this.path}`;
    return this;
  }

  /** The error for the client (protocol §7). */
  toError(): ApiError {
    return ApiError.of(this.code, this.describe(this.path), { param: this.path === '' ? null : this.path });
  }
}
