import { Injectable } from '@nestjs/common';

import type { Tenant } from '../index.js';
import { SocketQuota, type SocketPlace } from '../../connections/index.js';
import { andThen, type MaybePromise } from '../../time/index.js';
import { Counters } from './counters.js';
import { LimitRules } from './limit-rules.js';

const UNLIMITED: SocketPlace = { limit: 0, release: () => undefined };

/** The name of the counter of a tenant's sockets. */
export function socketsKey(tenant: Tenant): string {
  return JSON.stringify(['sockets', tenant]);
}

/** The sockets of tenants: `sockets` of LIMITS_FILE, otherwise WS_MAX_CONNECTIONS_PER_TENANT, over all replicas. */
@Injectable()
export class TenantSockets extends SocketQuota {
  constructor(
    private readonly rules: LimitRules,
    private readonly counters: Counters,
  ) {
    super();
  }

  override take(tenant: Tenant): MaybePromise<SocketPlace> {
    const limit = this.rules.socketsOf(tenant);
    if (limit === 0) return UNLIMITED;
    const key = socketsKey(tenant);
    const release = (): void => this.counters.settle(key, { places: -1 });
    const nothing = { requests: 0, requestLimit: 0, tokens: 0, tokenLimit: 0 };
    const counted = this.counters.take({ ...nothing, key, places: 1, placeLimit: limit });
    const toPlace = ({ admitted }: { readonly admitted: boolean }): SocketPlace =>
      admitted ? { limit, release } : { limit };
    return andThen(counted, toPlace);
  }
}
