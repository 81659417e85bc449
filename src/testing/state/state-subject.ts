import type { Tenant } from '../../access/index.js';
import type { NewJob, ResponseRecord, StateBackend } from '../../state/index.js';
import type { FakeClock } from '../fake-clock.js';

/** A started backend with nothing in it. What is optional has a default that suits a backend within the process. */
export interface OpenedState {
  readonly backend: StateBackend;
  /** The clock that the backend was given: responses expire by it. */
  readonly clock: FakeClock;
  /** How much is kept of responses, their items and conversations, tombstones included, in any unit: 0 for nothing. */
  content(): Promise<number>;
  /** Lets the leases on all sessions and conversations expire. By default the clock is advanced. */
  expireLeases?(): Promise<void>;
  /** Saves many responses at once, parents first; their items may be left out. By default one after the other. */
  saveMany?(tenant: Tenant, records: readonly ResponseRecord[]): Promise<void>;
  /** Enqueues jobs. By default with a background response for each. */
  enqueue?(...jobs: readonly NewJob[]): Promise<void>;
  /** Resolves when exactly so many jobs are held by a worker: what became of the others is known. By default after all microtasks. */
  untilHeld?(count: number): Promise<void>;
  /** Lets time pass for the jobs: pauses end, and deliveries take longer. By default the clock is advanced. */
  ageJobs?(seconds: number): Promise<void>;
  /** Starts another replica over the same state. Without it, what replicas must agree on is asked of one; `limits` needs it. */
  replica?(): Promise<StateBackend>;
  /** Lets the windows of all limits end. `limits` needs it. */
  endWindows?(): Promise<void>;
  /** Stops the backend and its replicas, and removes what they kept. */
  close(): Promise<void>;
}

const OPTIONAL = ['limits', 'usage', 'files', 'vectors', 'vectorStores', 'transfer'] as const;

/** The members of a backend that it may lack. */
export type OptionalContract = (typeof OPTIONAL)[number];

/** Whether a backend may lack a contract. */
export function isOptional(contract: string): contract is OptionalContract {
  return OPTIONAL.some((optional) => optional === contract);
}

/** The backend under test. */
export interface StateSubject {
  /** Opens an empty backend. The suite opens one for each group, some for each case, and closes them. */
  readonly open: () => Promise<OpenedState>;
  /** The contracts that the backend does not have: it must not. The cases of all others are there, and fail without them. */
  readonly without?: readonly OptionalContract[];
  /** Opens an empty backend that states are moved to and from; by default one in memory. */
  readonly openPeer?: () => Promise<OpenedState>;
  /** Expired usage goes without `purge()`, by the storage itself: the case that waits for it is left out. */
  readonly forgetsUsage?: boolean;
}
