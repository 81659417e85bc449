import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';

/** The share of one connection. */
export interface QueueShare {
  /** Reserves space for a queued turn. Throws ApiError 429 `too_many_queued_requests`. */
  take(bytes: number): void;
  giveBack(bytes: number): void;
}

/** Limits queued turns: number and bytes per connection, and bytes of all connections together. */
@Injectable()
export class QueueBudget {
  private totalBytes = 0;

  constructor(private readonly environment: Environment) {}

  open(): QueueShare {
    let turns = 0;
    let ownBytes = 0;
    return {
      take: (bytes) => {
        const { WS_QUEUE_MAX_TURNS, WS_QUEUE_MAX_BYTES, WS_QUEUE_TOTAL_BYTES } = this.environment;
        if (turns >= WS_QUEUE_MAX_TURNS) throw tooMany(`${WS_QUEUE_MAX_TURNS} requests are queued on this connection`);
        if (ownBytes + bytes > WS_QUEUE_MAX_BYTES)
          throw tooMany('the requests queued on this connection are too large');
        if (this.totalBytes + bytes > WS_QUEUE_TOTAL_BYTES) throw tooMany('the server has too many queued requests');
        turns += 1;
        ownBytes += bytes;
        this.totalBytes += bytes;
      },
      giveBack: (bytes) => {
        turns -= 1;
        ownBytes -= bytes;
        this.totalBytes -= bytes;
      },
    };
  }
}

function tooMany(why: string): ApiError {
  return ApiError.of(
    'too_many_queued_requests',
    `The request cannot be queued: ${why}. Wait until running requests end.`,
    {
      headers: { 'retry-after': '1' },
    },
  );
}
