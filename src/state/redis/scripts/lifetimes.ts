/** Keys outlive the time until which a response is kept by so long, ms: the purge announces and frees it before. */
export const GRACE_MS = 600_000;

/** How long entries in lists live of a response that has not ended, ms, unless they are renewed. */
export const UNFINISHED_MS = 24 * 3_600_000;

/** How long the keys of a response live that does not expire yet, ms. */
export const LONGEST_MS = 366 * 24 * 3_600_000;
