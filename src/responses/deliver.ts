import type { StreamEvent } from '../protocol/index.js';

/**
 * Takes a batch of a turn's events for a client. A promise says that the client has to catch up: nothing more comes before it
 * resolves, and the model waits. It never rejects, and does nothing once the client is gone.
 */
export type Deliver = (batch: readonly StreamEvent[]) => Promise<void> | undefined;
