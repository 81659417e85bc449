import { Injectable } from '@nestjs/common';

import type { Turn } from '../../providers/index.js';
import { compactionOf } from '../turn/compaction-request.js';
import { PassPolicy, type TurnPolicy } from '../turn/pass-policy.js';
import { Compactor } from './compactor.js';

/** Compacts the contexts of turns that ask for it, unless the upstream of their model does (protocol §6.11). */
@Injectable()
export class CompactionPolicy extends PassPolicy {
  constructor(private readonly compactor: Compactor) {
    super();
  }

  override begin(turn: Turn): TurnPolicy | undefined {
    const request = compactionOf(turn);
    if (request === null) return undefined;
    const attempts = { haveFailed: false };
    return {
      ahead: (next) => {
        if (next.route.provider.compactsContexts) return undefined;
        return request.kind === 'trigger'
          ? this.compactor.whole(next)
          : this.compactor.ifLong(next, request.tokens, attempts);
      },
    };
  }
}
