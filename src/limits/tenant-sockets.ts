import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { SocketQuota } from '../connections/index.js';
import { LimitRules } from './limit-rules.js';
import { OpenCounts } from './open-counts.js';

/** The sockets of tenants: `sockets` of LIMITS_FILE, otherwise WS_MAX_CONNECTIONS_PER_TENANT, over all replicas. */
@Injectable()
export class TenantSockets extends SocketQuota {
  constructor(
    private readonly rules: LimitRules,
    private readonly open: OpenCounts,
  ) {
    super();
  }

  override limitOf(tenant: Tenant): number {
    return this.rules.socketsOf(tenant);
  }

  override elsewhere(tenant: Tenant): number {
    return this.open.elsewhere(keyOf(tenant));
  }

  override opened(tenant: Tenant): void {
    this.open.open(keyOf(tenant));
  }

  override closed(tenant: Tenant): void {
    this.open.close(keyOf(tenant));
  }
}

function keyOf(tenant: Tenant): string {
  return JSON.stringify(['sockets', tenant]);
}
