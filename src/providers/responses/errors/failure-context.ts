import type { Profile } from '../profile.js';

/** What the class of a failure depends on besides the failure. */
export interface FailureContext {
  readonly profile: Profile;
  /** When it was read, milliseconds since the epoch: delays count from here. */
  readonly now: number;
}
