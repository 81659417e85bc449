import { Injectable } from '@nestjs/common';

import { Roster } from '../../roster.js';
import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import { BodyGarbage } from './body-garbage.js';

/** Bodies up to this size take nothing of the budget: little is gained by refusing them. */
export const SMALL_BYTES = 64 * 1024;

/** Has the owner of a share refuse its body and free the memory. */
type Refuse = (error: ApiError) => void;

/** What a body takes of the budget. */
export class BodyShare {
  /** The place of the body in the budget; null while it takes nothing. */
  place: number | null = null;
  private taken = 0;

  constructor(
    private readonly budget: BodyBudget,
    /** Null when the body is complete: it is only waited for. */
    private refuse: Refuse | null,
  ) {}

  get bytes(): number {
    return this.taken;
  }

  get isRefusable(): boolean {
    return this.refuse !== null;
  }

  /** The body has this many bytes now. May refuse it, or a larger one of another share. */
  hold(bytes: number): void {
    const taken = bytes > SMALL_BYTES ? bytes : 0;
    const change = taken - this.taken;
    if (change === 0) return;
    this.taken = taken;
    this.budget.account(this, change);
  }

  /** The body is complete: its bytes count until `release`, and it is not refused any more. */
  complete(): void {
    this.refuse = null;
  }

  /** Takes nothing any more. Repeated calls do nothing. */
  release(): void {
    this.hold(0);
  }

  /** Releases the bytes and has the body refused. */
  giveUp(error: ApiError): void {
    const { refuse } = this;
    this.refuse = null;
    this.release();
    refuse?.(error);
  }
}

/**
 * Bounds the memory of bodies and messages while they arrive, are unpacked and parsed: BODY_TOTAL_BYTES for the whole
 * process. Beyond it the largest unfinished one is refused, so that small ones of other clients still pass.
 */
@Injectable()
export class BodyBudget {
  private readonly shares = new Roster<BodyShare>();
  private total = 0;

  constructor(
    private readonly environment: Environment,
    private readonly garbage: BodyGarbage,
  ) {}

  /** The share of a body that arrives. `refuse` is called at most once. */
  open(refuse: Refuse): BodyShare {
    return new BodyShare(this, refuse);
  }

  /** The share of bodies that have arrived. */
  openComplete(): BodyShare {
    return new BodyShare(this, null);
  }

  /** Bytes of all shares. */
  get bytes(): number {
    return this.total;
  }

  /** Called by a share that has changed. */
  account(share: BodyShare, change: number): void {
    this.total += change;
    if (change > 0) this.garbage.add(change);
    else if (this.total === 0) this.garbage.rest();
    if (share.bytes > 0) share.place ??= this.shares.add(share);
    else if (share.place !== null) {
      this.shares.take(share.place);
      share.place = null;
    }
    while (change > 0 && this.total > this.environment.BODY_TOTAL_BYTES) {
      const largest = this.findLargest();
      if (largest === undefined) return;
      largest.giveUp(overloaded());
    }
  }

  private findLargest(): BodyShare | undefined {
    let largest: BodyShare | undefined;
    for (const share of this.shares) {
      if (share.isRefusable && share.bytes > (largest?.bytes ?? 0)) largest = share;
    }
    return largest;
  }
}

function overloaded(): ApiError {
  const message = 'The server is receiving too many large requests at once. Please retry your request.';
  return ApiError.of('server_is_overloaded', message, { headers: { 'retry-after': '1' } });
}
