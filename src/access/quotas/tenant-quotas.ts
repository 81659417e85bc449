import { Injectable } from '@nestjs/common';

import type { Tenant } from '../index.js';
import { SocketQuota, type SocketPlace } from '../../connections/index.js';
import { andThen, type MaybePromise } from '../../time/index.js';
import { SearchQuota } from '../../tools/web-search/index.js';
import { Counters, NOTHING } from './counters.js';
import { LimitRules } from './limit-rules.js';

const UNLIMITED: SocketPlace = { limit: 0, release: () => undefined };

/** The name of the counter of a tenant's sockets. */
export function socketsKey(tenant: Tenant): string {
  return JSON.stringify(['sockets', tenant]);
}

/** The name of the counter of a tenant's searches. */
export function searchesKey(tenant: Tenant): string {
  return JSON.stringify(['searches', tenant]);
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
    const counted = this.counters.take({ ...NOTHING, key, places: 1, placeLimit: limit });
    const toPlace = ({ admitted }: { readonly admitted: boolean }): SocketPlace =>
      admitted ? { limit, release } : { limit };
    return andThen(counted, toPlace);
  }
}

/** The searches of tenants: `searches_per_minute` of LIMITS_FILE, otherwise WEB_SEARCH_PER_MINUTE, over all replicas. */
@Injectable()
export class TenantSearches extends SearchQuota {
  constructor(
    private readonly rules: LimitRules,
    private readonly counters: Counters,
  ) {
    super();
  }

  override take(tenant: Tenant): MaybePromise<boolean> {
    const requestLimit = this.rules.searchesOf(tenant);
    if (requestLimit === 0) return true;
    const counted = this.counters.take({ ...NOTHING, key: searchesKey(tenant), requests: 1, requestLimit });
    return andThen(counted, ({ admitted }) => admitted);
  }
}
