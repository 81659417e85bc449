import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import type { Look } from './operations/visible.js';

/** Who looks now. */
export function lookOf(tenant: Tenant, clock: Clock, within: string | undefined): Look {
  return { tenant, now: clock.now(), within: within ?? null };
}
