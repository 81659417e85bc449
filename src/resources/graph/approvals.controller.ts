import { Controller, Get, Headers, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery } from '../../http/index.js';
import type { ListObject } from '../../protocol/index.js';
import { readSessionId } from '../sessions/index.js';
import { ApprovalParameters, ApprovalsService, readApprovalQuery, type WaitingApproval } from './approvals.service.js';

/** `GET /approvals`: what waits for a person (docs/tools.md). */
@Controller(apiPath('approvals'))
@UseGuards(ApiKeyGuard)
export class ApprovalsController {
  constructor(private readonly approvals: ApprovalsService) {}

  @Describe(() => ({
    id: 'listApprovals',
    group: 'Graph',
    summary: 'Lists the stored responses with calls that wait to be approved.',
    description:
      'Newest first: those with `mcp_approval_request` items that an answer would be taken for, whatever follows them. A page looks at 200 responses at most and may be empty with `has_more`; the next one begins `after` its `last_id`.',
    query: ApprovalParameters,
    headers: ['x-session-id'],
    answer: 'ApprovalList',
  }))
  @Get()
  list(
    @KnownQuery() query: Readonly<Record<string, unknown>>,
    @Headers() headers: Readonly<Record<string, unknown>>,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<WaitingApproval>> {
    return this.approvals.list(tenant, readApprovalQuery(query), readSessionId(headers));
  }
}
