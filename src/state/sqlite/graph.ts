import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import { readResponse, toTree } from '../stored-response.js';
import type { DatabaseThread } from './database-thread.js';
import { lookOf } from './operations/visible.js';
import type { Relatives } from './operations/graph.js';
import type { PageOutcome } from './operations/page.js';

type ResponsePage = Page<ResponseObject>;

/** Lists and trees of responses in SQLite. */
export class SqliteResponseGraph extends ResponseGraph {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const outcome = await this.thread.call('list', tenant, this.clock.now(), filter, page);
    return this.thread.decode(() => toPage(outcome, page));
  }

  override children(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around('children', tenant, responseId, page, within);
  }

  override siblings(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around('siblings', tenant, responseId, page, within);
  }

  override leaves(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    return this.around('leaves', tenant, responseId, page, within);
  }

  override async tree(
    tenant: Tenant,
    responseId: string,
    bounds: TreeBounds,
    within?: string,
  ): Promise<TreeNode | undefined> {
    const rows = await this.thread.call('tree', lookOf(tenant, this.clock, within), responseId, bounds);
    if (rows === 'too large') throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    return rows && this.thread.decode(() => toTree(rows));
  }

  private async around(
    relatives: Relatives,
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within: string | undefined,
  ): Promise<ResponsePage | undefined> {
    const look = lookOf(tenant, this.clock, within);
    const outcome = await this.thread.call('relatives', relatives, look, responseId, page);
    if (outcome === 'too large') throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    return outcome && this.thread.decode(() => toPage(outcome, page));
  }
}

function toPage(outcome: PageOutcome, page: PageRequest): ResponsePage {
  if (outcome === 'unknown cursor') throw new UnknownCursorError(page);
  return { data: outcome.data.map(readResponse), hasMore: outcome.hasMore };
}
