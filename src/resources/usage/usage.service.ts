import { Injectable } from '@nestjs/common';

import { asTenant, type Caller, requireScope, type Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import { dayOf, DAY_MS, StateBackend, type UsageStore } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { daysOf, toUsagePage, type UsagePage } from './usage-page.js';
import type { UsageReportQuery } from './usage-query.js';
import { UsageRecorder } from './usage-recorder.js';

/** In `tenant`: all tenants. */
const ALL = '*';

/** Reports what turns have used. */
@Injectable()
export class UsageService {
  constructor(
    private readonly backend: StateBackend,
    private readonly recorder: UsageRecorder,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * A page of the report. Turns with stored responses are in it at once, other turns of other replicas up to a second later. Throws ApiError 403 for other
   * tenants without the scope `admin`, 404 when usage is not recorded, and 503.
   */
  async report(caller: Caller, query: UsageReportQuery): Promise<UsagePage> {
    const tenant = tenantOf(caller, query);
    const store = this.requireStore();
    await this.recorder.flush();
    const days = daysOf(query);
    // What has expired is not shown, also where it was not purged yet.
    const oldest = dayOf(this.clock.now() - this.environment.USAGE_RETENTION_DAYS * DAY_MS);
    const range = { ...days, firstDay: Math.max(days.firstDay, oldest) };
    return toUsagePage(await store.report({ ...range, ...(tenant === undefined ? {} : { tenant }) }), query);
  }

  private requireStore(): UsageStore {
    const { usage } = this.backend;
    if (this.environment.USAGE_RETENTION_DAYS > 0 && usage !== undefined) return usage;
    const reason =
      usage === undefined
        ? 'its state backend has no UsageStore'
        : 'USAGE_RETENTION_DAYS is 0; the operator can set it';
    throw ApiError.of('unknown_url', `This server does not record usage: ${reason}.`);
  }
}

/** The tenant that a report is about; undefined for all. Throws ApiError 403. */
function tenantOf(caller: Caller, { tenant, groups }: UsageReportQuery): Tenant | undefined {
  const isOwn = tenant === undefined || tenant === caller.tenant;
  if (!isOwn || groups.has('tenant')) requireScope(caller, 'admin');
  if (tenant === ALL) return undefined;
  return tenant === undefined ? caller.tenant : asTenant(tenant);
}
