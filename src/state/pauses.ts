import type { Pauses } from '../time/index.js';

/** Pauses between attempts to connect to an unavailable store. */
export const PAUSES: Pauses = { firstMs: 50, longestMs: 5000 };
