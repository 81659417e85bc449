import type { DeletionNotices } from './deletion-notices.js';
import type { ResponseGraph } from './response-graph.js';
import type { ResponseStore } from './response-store.js';
import type { SessionLock } from './session-lock.js';
import type { SessionStore } from './session-store.js';

/** A backend: a whole room of contracts over one place where state is kept. */
export abstract class StateBackend {
  abstract readonly responses: ResponseStore;
  abstract readonly graph: ResponseGraph;
  abstract readonly sessions: SessionStore;
  abstract readonly locks: SessionLock;
  abstract readonly notices: DeletionNotices;

  /** Makes it usable. Throws what cannot be mended by waiting; a place that is only away for now is waited for later. */
  abstract start(): Promise<void>;

  abstract stop(): Promise<void>;
}
