import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { toKey } from './keys.js';
import type { Viewer } from './statements/visible.js';

/** Who looks, when, and within which session, as the values that every look-up begins with. */
export function viewerOf(tenant: Tenant, clock: Clock, within: string | undefined): Viewer {
  return [toKey(tenant), new Date(clock.now()), within === undefined ? null : toKey(within)];
}
