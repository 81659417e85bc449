import { Injectable } from '@nestjs/common';
import { IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { type Item, type ListObject, type ResponseObject, toListObject } from '../../protocol/index.js';
import { ConversationStore, ResponseGraph, ResponseStore } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { type Query, queryCheckOf, toNumber } from '../../validation/index.js';

/** Most responses that one request looks at: a model seldom asks, so that there may be many without a call that waits. */
const MOST_LOOKED_AT = 200;
/** Responses that are read at once, and children of a response. */
const PAGE = 100;

/** The query of `GET /approvals`. */
export class ApprovalParameters {
  @IsInt()
  @Min(1)
  @Max(100)
  readonly limit!: number;

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly after?: string;
}

/** A response with calls that wait to be approved. */
export interface WaitingApproval extends Pick<ResponseObject, 'id' | 'model' | 'created_at'> {
  readonly object: 'approval';
  readonly conversation: ResponseObject['conversation'] | null;
  /** The `mcp_approval_request` items. */
  readonly requests: readonly Item[];
}

const check = queryCheckOf(ApprovalParameters);

/** Reads the query of `GET /approvals`. Throws ApiError 400 for the first violation. */
export function readApprovalQuery({ limit, after }: Query): ApprovalParameters {
  return check({ limit: toNumber(limit ?? 20), ...(after === undefined ? {} : { after }) });
}

/** Finds the calls that wait for a person. */
@Injectable()
export class ApprovalsService {
  constructor(
    private readonly graph: ResponseGraph,
    private readonly responses: ResponseStore,
    private readonly conversations: ConversationStore,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * The latest responses of a tenant with requests for approvals that nothing continues, newest first, of those that have not expired
   * (MCP_APPROVAL_TTL). A page ends after MOST_LOOKED_AT responses, also without any: then `last_id` is where the next one begins.
   * Throws UnknownCursorError.
   */
  async list(
    tenant: Tenant,
    { limit, after }: ApprovalParameters,
    sessionId?: string,
  ): Promise<ListObject<WaitingApproval>> {
    const createdFrom = Math.floor(this.clock.now() / 1000) - this.environment.MCP_APPROVAL_TTL;
    const waiting: WaitingApproval[] = [];
    let last = after;
    let hasMore = true;
    for (let lookedAt = 0; hasMore && lookedAt < MOST_LOOKED_AT && waiting.length < limit;) {
      const page = { limit: PAGE, order: 'desc', ...(last === undefined ? {} : { after: last }) } as const;
      const found = await this.graph.list(
        tenant,
        { createdFrom, ...(sessionId === undefined ? {} : { sessionId }) },
        page,
      );
      hasMore = found.hasMore;
      for (const response of found.data) {
        if (waiting.length === limit) {
          hasMore = true;
          break;
        }
        lookedAt += 1;
        last = response.id;
        const requests = response.output.filter(({ type }) => type === 'mcp_approval_request');
        if (requests.length > 0 && !(await this.isContinued(tenant, response)))
          waiting.push(toBody(response, requests));
      }
    }
    const list = toListObject(waiting, hasMore);
    return hasMore ? { ...list, last_id: last ?? null } : list;
  }

  private async isContinued(tenant: Tenant, { id, conversation, output }: ResponseObject): Promise<boolean> {
    const children = await this.graph.children(tenant, id, { limit: PAGE, order: 'desc' });
    if (children === undefined) return true;
    for (const child of children.data) if (await this.isAnswer(tenant, child)) return true;
    if (conversation === undefined) return false;
    const items = await this.conversations.items(tenant, conversation.id, { limit: 1, order: 'desc' });
    return items?.data[0]?.id !== output.at(-1)?.id;
  }

  /** An answer counts once its turn has begun, and whatever becomes of that; without one, a turn that has come to nothing does not. */
  private async isAnswer(tenant: Tenant, { id, status }: ResponseObject): Promise<boolean> {
    if (status !== 'failed' && status !== 'cancelled') return true;
    const input = await this.responses.inputItems(tenant, id, { limit: PAGE, order: 'asc' });
    return input?.data.some(({ type }) => type === 'mcp_approval_response') === true;
  }
}

function toBody({ id, model, created_at, conversation }: ResponseObject, requests: readonly Item[]): WaitingApproval {
  return { id, object: 'approval', model, created_at, conversation: conversation ?? null, requests };
}
