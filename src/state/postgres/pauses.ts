import type { Pauses } from '../../time/index.js';

/** Between attempts to reach a database that is away. */
export const PAUSES: Pauses = { firstMs: 50, longestMs: 5000 };
