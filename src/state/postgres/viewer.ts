import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { toKey } from '../keys.js';
import type { Viewer } from './statements/visible.js';

/** The tenant, the time and the session, as the first values of every look-up. */
export function viewerOf(tenant: Tenant, clock: Clock, within: string | undefined): Viewer {
  return [toKey(tenant), new Date(clock.now()), within === undefined ? null : toKey(within)];
}
