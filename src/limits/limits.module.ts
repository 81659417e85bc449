import { Global, Module } from '@nestjs/common';

import { SocketQuota } from '../connections/index.js';
import { LimitRules } from './limit-rules.js';
import { OpenCounts } from './open-counts.js';
import { TenantSockets } from './tenant-sockets.js';
import { Windows } from './windows.js';

/** Limits of tenants: their rules and their counters. Global, because an Admission is made by the program. */
@Global()
@Module({
  providers: [LimitRules, Windows, OpenCounts, { provide: SocketQuota, useClass: TenantSockets }],
  exports: [LimitRules, Windows, OpenCounts, SocketQuota],
})
export class LimitsModule {}
