import { ApiError, type ErrorCode } from '../protocol/index.js';
import { clip } from './wording.js';

/**
 * The first thing that is wrong in a value. It starts where it was found and is told its way up, `text`, `content[1].text`,
 * `input[0].content[1].text`: so a request without violations never pays for building a path.
 */
export class Violation {
  private path = '';

  constructor(
    private readonly code: ErrorCode,
    private readonly describe: (path: string) => string,
  ) {}

  /** The same violation, seen from the object that holds the value as `member`. */
  under(member: string): this {
    const separator = this.path === '' || this.path.startsWith('[') ? '' : '.';
    this.path = `${clip(member)}${separator}${this.path}`;
    return this;
  }

  /** The same violation, seen from the array that holds the value at `index`. */
  at(index: number): this {
    const separator = this.path === '' || this.path.startsWith('[') ? '' : '.';
    this.path = `[${index}]${separator}${this.path}`;
    return this;
  }

  /** The refusal the client gets (protocol §7). */
  toError(): ApiError {
    return ApiError.of(this.code, this.describe(this.path), { param: this.path === '' ? null : this.path });
  }
}
