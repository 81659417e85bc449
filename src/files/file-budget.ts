import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';

/** What a turn takes of the budget. */
export class FileShare {
  private taken = 0;
  private isOver = false;

  constructor(private readonly budget: FileBudget) {}

  /** Takes bytes until `giveBack` or `release`. Throws ApiError 503 `server_is_overloaded` when there is no room; nothing is taken then. */
  take(bytes: number): void {
    // A turn that is over throws away what it still reads.
    if (this.isOver) return;
    this.budget.account(bytes, this.taken);
    this.taken += bytes;
  }

  /** Gives back bytes that were taken. */
  giveBack(bytes: number): void {
    if (this.isOver) return;
    this.budget.account(-bytes, this.taken);
    this.taken -= bytes;
  }

  /** Gives back everything. From now on nothing is taken. */
  release(): void {
    this.giveBack(this.taken);
    this.isOver = true;
  }
}

/**
 * Bounds the memory of files that running turns give their models, as they were read and as what they became: FILE_INPUT_TOTAL_BYTES for the whole
 * process. A turn that is the only one with files is not refused: it has bounds of its own.
 */
@Injectable()
export class FileBudget {
  private total = 0;

  constructor(private readonly environment: Environment) {}

  /** Bytes of all shares. */
  get bytes(): number {
    return this.total;
  }

  /** The share of a turn, which must be released at its end. */
  open(): FileShare {
    return new FileShare(this);
  }

  /** Called by a share that changes. `own`: what it has. Throws ApiError 503 when there is no room. */
  account(change: number, own: number): void {
    const isAlone = this.total === own;
    if (change > 0 && !isAlone && this.total + change > this.environment.FILE_INPUT_TOTAL_BYTES) throw overloaded();
    this.total += change;
  }
}

function overloaded(): ApiError {
  const message = 'The server is giving models too many large files at once. Please retry your request.';
  return ApiError.of('server_is_overloaded', message, { headers: { 'retry-after': '1' } });
}
