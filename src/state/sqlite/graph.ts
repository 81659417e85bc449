import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import type { Page, PageRequest } from '../page.js';
import { type ResponseFilter, ResponseGraph, type TreeBounds, type TreeNode } from '../response-graph.js';
import { readResponse, type StoredResponse, toTree } from '../stored-response.js';
import type { DatabaseThread } from './database-thread.js';
import { lookOf } from './operations/visible.js';
import type { Relatives } from './operations/graph.js';

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
    const found = await this.thread.call('list', tenant, this.clock.now(), filter, page);
    return this.thread.decode(() => toResponses(found));
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
    const found = await this.thread.call('relatives', relatives, look, responseId, page);
    return found && this.thread.decode(() => toResponses(found));
  }
}

function toResponses({ data, hasMore }: Page<StoredResponse>): ResponsePage {
  return { data: data.map(readResponse), hasMore };
}
