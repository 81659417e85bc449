import { Injectable } from '@nestjs/common';

import type { Tenant } from '../index.js';
import { andThen, type MaybePromise } from '../../time/index.js';
import { SearchQuota } from '../../tools/web-search/index.js';
import { Counters } from './counters.js';
import { LimitRules } from './limit-rules.js';

/** The name of the counter of a tenant's searches. */
export function searchesKey(tenant: Tenant): string {
  return JSON.stringify(['searches', tenant]);
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
    const key = searchesKey(tenant);
    const nothing = { tokens: 0, tokenLimit: 0, places: 0, placeLimit: 0 };
    return andThen(this.counters.take({ ...nothing, key, requests: 1, requestLimit }), ({ admitted }) => admitted);
  }
}
