import { Global, Module } from '@nestjs/common';

import { SocketQuota } from '../connections/index.js';
import { Counters } from './counters.js';
import { LimitRules } from './limit-rules.js';
import { TenantSockets } from './tenant-sockets.js';

/** Limits of tenants: their rules and their counters. Global, because an Admission is made by the program. */
@Global()
@Module({
  providers: [LimitRules, Counters, { provide: SocketQuota, useClass: TenantSockets }],
  exports: [LimitRules, Counters, SocketQuota],
})
export class LimitsModule {}
