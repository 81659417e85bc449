import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';

/** What one body or message holds of the budget. */
export class BodyHold {
  private held = 0;
  private isGrowing = true;

  constructor(
    private readonly budget: BodyBudget,
    private readonly refuse: (error: ApiError) => void,
  ) {}

  /** Bytes. */
  get bytes(): number {
    return this.held;
  }

  /** Whether it may be refused: a complete body is only waited for. */
  get isRefusable(): boolean {
    return this.isGrowing;
  }

  /** Holds this many bytes from now on. May refuse this body or a larger one, by its callback. */
  hold(bytes: number): void {
    const change = bytes - this.held;
    if (change === 0) return;
    this.held = bytes;
    this.budget.account(this, change);
  }

  /** It has arrived: it holds what it holds until `release`, and is not refused any more. */
  complete(): void {
    this.isGrowing = false;
  }

  /** Holds nothing. Repeated calls do nothing. */
  release(): void {
    this.hold(0);
  }

  /** Releases the bytes and has the body refused. */
  giveUp(error: ApiError): void {
    this.isGrowing = false;
    this.release();
    this.refuse(error);
  }
}

/**
 * Bounds the memory of bodies and messages while they arrive, are unpacked and parsed: BODY_TOTAL_BYTES for the whole
 * process. Beyond it the largest unfinished one is refused, so that small ones of other clients still pass.
 */
@Injectable()
export class BodyBudget {
  private readonly holds = new Set<BodyHold>();
  private total = 0;

  constructor(private readonly environment: Environment) {}

  /** A share for one body; `refuse` is called at most once, and has to free its memory. */
  open(refuse: (error: ApiError) => void): BodyHold {
    return new BodyHold(this, refuse);
  }

  /** Bytes held by all. */
  get bytes(): number {
    return this.total;
  }

  /** Called by a hold that has changed. */
  account(hold: BodyHold, change: number): void {
    this.total += change;
    if (hold.bytes === 0) this.holds.delete(hold);
    else this.holds.add(hold);
    while (change > 0 && this.total > this.environment.BODY_TOTAL_BYTES) {
      const largest = this.findLargest();
      if (largest === undefined) return;
      largest.giveUp(overloaded());
    }
  }

  private findLargest(): BodyHold | undefined {
    let largest: BodyHold | undefined;
    for (const hold of this.holds) {
      if (hold.isRefusable && hold.bytes > (largest?.bytes ?? 0)) largest = hold;
    }
    return largest;
  }
}

function overloaded(): ApiError {
  const message = 'The server is receiving too many large requests at once. Please retry your request.';
  return ApiError.of('server_is_overloaded', message, { headers: { 'retry-after': '1' } });
}
