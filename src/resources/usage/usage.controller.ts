import { Controller, Get, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery } from '../../http/index.js';
import { Clock } from '../../time/index.js';
import { UsageService } from './usage.service.js';
import type { UsagePage } from './usage-page.js';
import { readUsageQuery, UsageParameters } from './usage-query.js';

/** `GET /usage`: the turns and tokens of a tenant by day, model, provider and credential (docs/usage.md). */
@Controller(apiPath('usage'))
@UseGuards(ApiKeyGuard)
export class UsageController {
  constructor(
    private readonly usage: UsageService,
    private readonly clock: Clock,
  ) {}

  @Describe(() => ({
    id: 'getUsage',
    group: 'Usage',
    summary: 'Reports what turns have used, by day in UTC.',
    query: UsageParameters,
    answer: 'UsagePage',
    errors: ['unknown_url'],
  }))
  @Get()
  report(@KnownQuery() query: Readonly<Record<string, unknown>>, @CurrentCaller() caller: Caller): Promise<UsagePage> {
    return this.usage.report(caller, readUsageQuery(query, this.clock.nowInSeconds()));
  }
}
