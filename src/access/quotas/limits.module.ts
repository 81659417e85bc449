import { Global, Module } from '@nestjs/common';

import { SocketQuota } from '../../connections/index.js';
import { SearchQuota } from '../../tools/web-search/index.js';
import { Counters } from './counters.js';
import { LimitRules } from './limit-rules.js';
import { TenantLimits } from './tenant-limits.js';
import { TenantSearches, TenantSockets } from './tenant-quotas.js';

/** Limits of tenants: their rules and their counters. Global, because an Admission is made by the program. */
@Global()
@Module({
  providers: [
    LimitRules,
    Counters,
    TenantLimits,
    { provide: SocketQuota, useClass: TenantSockets },
    { provide: SearchQuota, useClass: TenantSearches },
  ],
  exports: [LimitRules, Counters, TenantLimits, SocketQuota, SearchQuota],
})
export class LimitsModule {}
