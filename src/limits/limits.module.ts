import { Global, Module } from '@nestjs/common';

import { SocketQuota } from '../connections/index.js';
import { StateModule } from '../state/index.js';
import { LimitRules } from './limit-rules.js';
import { OpenCounts } from './open-counts.js';
import { TenantSockets } from './tenant-sockets.js';
import { Windows } from './windows.js';

/** Limits of tenants: their rules and their counters. Global, because an Admission is made by the program. */
@Global()
@Module({
  // It stops after the limits have stated the last of their counts.
  imports: [StateModule],
  providers: [LimitRules, Windows, OpenCounts, { provide: SocketQuota, useClass: TenantSockets }],
  exports: [LimitRules, Windows, OpenCounts, SocketQuota],
})
export class LimitsModule {}
