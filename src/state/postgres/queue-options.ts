import type { UpdateQueueOptions } from 'pg-boss';

import type { QueueOptions } from '../job-queue.js';
import { TAKEOVER_SECONDS } from './job-engine.js';

/** The least that pg-boss allows, seconds. */
export const SHORTEST_HEARTBEAT = 10;
/** The most that pg-boss allows, seconds. */
const LONGEST_RUN = 86_400;
/** How long a job may wait, seconds: longer than any turn. */
const LONGEST_WAIT = 365 * 86_400;
/** How long a job is stored that failed for the last time, seconds. */
const FAILED_SECONDS = 3600;
const MOST_RETRIES = 2 ** 31 - 1;

/** After how many seconds without a sign of life a process counts as dead. */
function heartbeatOf({ leaseSeconds }: QueueOptions): number {
  return Math.max(SHORTEST_HEARTBEAT, Math.floor(leaseSeconds) - TAKEOVER_SECONDS);
}

/** The options of a queue in pg-boss's terms. */
export function toBossOptions(options: QueueOptions): UpdateQueueOptions {
  const { maxRunSeconds, retryDelaySeconds, longestRetryDelaySeconds, maxAttempts } = options;
  return {
    heartbeatSeconds: heartbeatOf(options),
    expireInSeconds: Math.min(Math.max(1, Math.ceil(maxRunSeconds)), LONGEST_RUN),
    retryLimit: Math.min(maxAttempts - 1, MOST_RETRIES),
    retryDelay: Math.ceil(retryDelaySeconds),
    retryBackoff: longestRetryDelaySeconds !== undefined,
    retryDelayMax: longestRetryDelaySeconds === undefined ? null : Math.ceil(longestRetryDelaySeconds),
    retentionSeconds: LONGEST_WAIT,
    deleteAfterSeconds: FAILED_SECONDS,
  };
}
