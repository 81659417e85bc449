import { Injectable } from '@nestjs/common';
import { IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { approvalsOpenFrom } from '../../context/index.js';
import { approvalTimeOf, type Item, type ListObject, type ResponseObject, toListObject } from '../../protocol/index.js';
import { claimOfApproval, Claims, ConversationStore, ResponseGraph, ResponseStore } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { type Query, queryCheckOf, toNumber } from '../../validation/index.js';

/** Most responses that one request looks at: a model seldom asks, so that there may be many without a call that waits. */
const MOST_LOOKED_AT = 200;
/** Responses that are read at once, and children of a response. */
const PAGE = 100;

/** The longest turn where MAX_TURN_MS sets no limit: it may have asked for its approval so long after its response was created. */
const DAY_MS = 86_400_000;

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

/** A response with calls that wait to be approved. Without a conversation, or behind its deletion, a request continues the response. */
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
    private readonly claims: Claims,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * The latest responses of a tenant with requests for approvals that an answer would be taken for, newest first. Whatever follows a response
   * leaves its requests open until they are answered, or expire (MCP_APPROVAL_TTL). A page ends after MOST_LOOKED_AT responses, also without
   * any: then `last_id` is where the next one begins. Throws UnknownCursorError.
   */
  async list(
    tenant: Tenant,
    { limit, after }: ApprovalParameters,
    sessionId?: string,
  ): Promise<ListObject<WaitingApproval>> {
    const createdFrom = Math.floor((this.openFrom() - (this.environment.MAX_TURN_MS || DAY_MS)) / 1000);
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
      const unanswered = await this.unansweredIn(tenant, found.data);
      for (const response of found.data) {
        if (waiting.length === limit) {
          hasMore = true;
          break;
        }
        lookedAt += 1;
        last = response.id;
        const approval = await this.toApproval(tenant, response, unanswered.get(response) ?? []);
        if (approval !== undefined) waiting.push(approval);
      }
    }
    const list = toListObject(waiting, hasMore);
    return hasMore ? { ...list, last_id: last ?? null } : list;
  }

  /** Since when requests are open, Unix ms. */
  private openFrom(): number {
    return approvalsOpenFrom(this.clock, this.environment);
  }

  /** The requests of each response that can be continued, without those that have expired or that an answer has claimed. */
  private async unansweredIn(
    tenant: Tenant,
    responses: readonly ResponseObject[],
  ): Promise<ReadonlyMap<ResponseObject, readonly Item[]>> {
    const openFrom = this.openFrom();
    const requests = responses
      .filter(({ status }) => status === 'completed' || status === 'incomplete')
      .map((response) => [response, response.output.filter((item) => isOpenRequest(item, openFrom))] as const);
    const names = requests.flatMap(([, items]) => items.map(({ id }) => claimOfApproval(id)));
    if (names.length === 0) return new Map();
    const answered = new Set((await this.claims.held(tenant, names)).map(({ name }) => name));
    return new Map(
      requests.map(([response, items]) => [response, items.filter(({ id }) => !answered.has(claimOfApproval(id)))]),
    );
  }

  /** Undefined where none of the requests is left. */
  private async toApproval(
    tenant: Tenant,
    response: ResponseObject,
    unanswered: readonly Item[],
  ): Promise<WaitingApproval | undefined> {
    if (unanswered.length === 0) return undefined;
    // Upstreams do not say which of their own requests they have had answers to.
    const isForeign = ({ id }: Item): boolean => approvalTimeOf(id) === undefined;
    const areOver = unanswered.some(isForeign) && (await this.isContinued(tenant, response));
    const place = await this.placeOf(
      tenant,
      response,
      areOver ? unanswered.filter((item) => !isForeign(item)) : unanswered,
    );
    if (place.requests.length === 0) return undefined;
    const { id, model, created_at } = response;
    return { id, object: 'approval', model, created_at, ...place };
  }

  /** The conversation in which requests are answered, unless it was deleted, and those of them that were not deleted from it. */
  private async placeOf(
    tenant: Tenant,
    { conversation }: ResponseObject,
    requests: readonly Item[],
  ): Promise<Pick<WaitingApproval, 'conversation' | 'requests'>> {
    if (conversation === undefined) return { conversation: null, requests };
    const left: Item[] = [];
    for (const request of requests) {
      const found = await this.conversations.item(tenant, conversation.id, request.id);
      if ('refused' in found && found.refused === 'not_found') return { conversation: null, requests };
      if (!('refused' in found)) left.push(request);
    }
    return { conversation, requests: left };
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

/** Whether an item is a request for an approval that has not expired. */
function isOpenRequest({ type, id }: Item, openFrom: number): boolean {
  return type === 'mcp_approval_request' && (approvalTimeOf(id) ?? Infinity) > openFrom;
}
