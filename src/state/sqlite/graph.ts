import type { ResponseObject } from '../../protocol/index.js';
import type { Page } from '../page.js';
import { ResponseGraph, type TreeNode } from '../response-graph.js';
import { readResponse, type StoredResponse, toTree } from '../stored-response.js';
import type { DatabaseThread } from './database-thread.js';

type Asked<Method extends keyof ResponseGraph> = Parameters<ResponseGraph[Method]>;

/** Lists and trees of responses in SQLite. */
export class SqliteResponseGraph extends ResponseGraph {
  constructor(private readonly thread: DatabaseThread) {
    super();
  }

  override async list(...asked: Asked<'list'>): Promise<Page<ResponseObject>> {
    return this.read(await this.thread.call('graph.list', ...asked));
  }

  override async children(...asked: Asked<'children'>): Promise<Page<ResponseObject> | undefined> {
    const found = await this.thread.call('graph.relatives', 'children', ...asked);
    return found && this.read(found);
  }

  override async siblings(...asked: Asked<'siblings'>): Promise<Page<ResponseObject> | undefined> {
    const found = await this.thread.call('graph.relatives', 'siblings', ...asked);
    return found && this.read(found);
  }

  override async leaves(...asked: Asked<'leaves'>): Promise<Page<ResponseObject> | undefined> {
    const found = await this.thread.call('graph.relatives', 'leaves', ...asked);
    return found && this.read(found);
  }

  override async tree(...asked: Asked<'tree'>): Promise<TreeNode | undefined> {
    const rows = await this.thread.call('graph.tree', ...asked);
    return rows && this.thread.decode(() => toTree(rows));
  }

  private read({ data, hasMore }: Page<StoredResponse>): Page<ResponseObject> {
    return this.thread.decode(() => ({ data: data.map(readResponse), hasMore }));
  }
}
