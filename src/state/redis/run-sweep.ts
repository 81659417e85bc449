import { randomUUID } from 'node:crypto';

import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock, Timer } from '../../time/index.js';
import { NEVER } from '../background-runs.js';
import { inOneLine } from '../errors.js';
import { renewalCommands } from './indexes.js';
import type { RedisJobQueue } from './jobs.js';
import type { Located, RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import type { RunEnds, RunState } from './run-ends.js';
import type { RunIndex } from './run-index.js';

/** How often one of the processes looks after background responses, ms. */
const INTERVAL_MS = 5000;
/** How long it may take, ms: afterwards another process may begin, which does no harm. */
const LOCK_MS = 4000;
/** Responses that are looked after together. */
const BATCH = 200;
/** How often it is looked whether an unfinished response has its job, ms. */
const CHECK_MS = 30_000;
/** A response that is not there may still be about to be stored for so long after its creation, ms. */
const CREATION_MS = 60_000;

/** What a sweep needs. */
export interface RunSweepParts {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly index: RunIndex;
  readonly ends: RunEnds;
  readonly jobs: RedisJobQueue;
  readonly clock: Clock;
}

/**
 * Does what processes that died have left: has unfinished responses found, and enqueues the jobs that are stored with their responses, and also those of
 * unfinished responses whose job is not there, for whatever reason.
 */
export class RunSweep {
  private readonly outages = new OutageLog(new Logger('RunSweep'));
  private readonly id = randomUUID();
  private timer: Timer | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly parts: RunSweepParts) {}

  start(): void {
    this.timer = this.parts.clock.schedule(INTERVAL_MS, () => {
      this.running = this.sweep()
        .catch((error: unknown) =>
          this.outages.warn('the check for abandoned background responses is postponed', inOneLine(error)),
        )
        // Started again only now, so that one sweep runs at a time.
        .then(() => this.timer?.refresh());
    });
  }

  async stop(): Promise<void> {
    this.timer?.cancel();
    this.timer = undefined;
    await this.running;
  }

  /** Looks after what is due, unless another process does. Throws StoreUnavailableError. */
  private async sweep(): Promise<void> {
    const { redis, keys, index, ends, clock } = this.parts;
    const [isMine] = await redis.write(['SET', keys.sweep, this.id, 'PX', LOCK_MS, 'NX']);
    if (isMine === null) return;
    for (let count = BATCH; count === BATCH;) {
      const entries = await index.toCheck(clock.now(), BATCH);
      count = entries.length;
      const states = await ends.statesOf(entries);
      const unfinished: { readonly entry: Located; readonly state: RunState }[] = [];
      for (const [position, entry] of entries.entries()) {
        const state = states[position];
        if (state === undefined) await this.leave(entry);
        else if (state.hasEnded) await ends.settleAgain(entry, state.jobs);
        else unfinished.push({ entry, state });
      }
      await this.enqueue(unfinished);
    }
  }

  /** A response that is not there: it was deleted, or is never stored. */
  private async leave(entry: Located): Promise<void> {
    const { redis, index, clock } = this.parts;
    const now = clock.now();
    const isOld = ((await index.createdAt(entry)) ?? 0) < now - CREATION_MS;
    await redis.write(...(isOld ? index.left(entry) : [index.postponed(entry, now + CREATION_MS)]));
  }

  private async enqueue(unfinished: readonly { readonly entry: Located; readonly state: RunState }[]): Promise<void> {
    const { redis, keys, index, jobs, clock } = this.parts;
    const now = clock.now();
    // A creation that was cut off may have left no index entries, and the run has to find the response.
    await redis.write(
      ...unfinished.flatMap(({ entry: { tenant, slot, responseKey }, state: { sessions, createdAt } }) =>
        renewalCommands(keys, tenant, slot, { id: responseKey, sessions, createdAt, expiresAt: NEVER, slack: 0 }, now),
      ),
    );
    // Jobs that are in the queue already stay as they are.
    await jobs.add(unfinished.flatMap(({ state }) => state.jobs.map((job) => ({ ...job, after: state.attempt }))));
    await redis.write(
      ...unfinished.flatMap(({ entry, state }) => [
        ...(state.isQueued ? [] : index.begun(entry)),
        index.postponed(entry, now + CHECK_MS),
      ]),
    );
  }
}
