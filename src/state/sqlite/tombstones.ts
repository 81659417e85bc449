import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { DeletionNotices } from '../notices.js';
import type { DatabaseThread } from './database-thread.js';
import type { GoneResponses, SweepPosition } from './operations/delete.js';

/** Most responses of one call: others are answered in between. */
const BATCH = 1000;

const BEGINNING: SweepPosition = { expiresAt: -1, response: 0 };

/** Sweeps after which the position is reset, for what could not be freed when it was deleted. */
const SWEEPS_IN_A_ROUND = 60;

/** Frees invisible responses as soon as no response continues them. */
export class SqliteTombstones {
  private readonly outages = new OutageLog(new Logger('Tombstones'));
  private position = BEGINNING;
  private sweeps = 0;

  constructor(
    private readonly thread: DatabaseThread,
    private readonly notices: DeletionNotices,
  ) {}

  /**
   * Reports deleted responses, or those that are `changed`, and frees the deleted ones; a sweep frees the rest. Resolves
   * when up to one batch is freed; larger deletions continue in the background. Never rejects.
   */
  async bury({ ids, numbers }: GoneResponses, changed = ids): Promise<void> {
    this.notices.announce(changed);
    const freeing = this.free(numbers).catch((error: unknown) => {
      this.outages.warn('deleted responses will be freed later', String(error));
    });
    if (numbers.length <= BATCH) await freeing;
  }

  /** Frees the next batch of expired responses; false when there are no more. Throws StoreUnavailableError. */
  async sweep(): Promise<boolean> {
    const { ids, numbers, last, hasMore } = await this.thread.call('responses.sweep', this.position, BATCH);
    // Set first: an error must not block the following ones.
    this.position = last ?? this.position;
    this.notices.announce(ids);
    await this.free(numbers);
    if (hasMore) return true;
    this.sweeps += 1;
    if (this.sweeps % SWEEPS_IN_A_ROUND === 0) this.position = BEGINNING;
    return false;
  }

  private async free(numbers: readonly number[]): Promise<void> {
    let left = numbers;
    while (left.length > 0) left = await this.thread.call('responses.free', left, BATCH);
  }
}
