import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import { toKey, toLabels } from '../keys.js';
import { isForward, type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import { readResponse } from '../stored-response.js';
import type { RedisKeys } from './keys.js';
import { type List, type Listed, type ListedResponses, toTexts } from './listed-responses.js';
import type { Locators } from './locators.js';
import { withinOf } from './membership.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { LEAVES, type LeavesReply, TREE, type TreeReply, type TreeRow } from './scripts/walk.js';

type ResponsePage = Page<ResponseObject>;

/**
 * Lists and trees of responses in Redis. A list is read from its index, then its responses where they lie: few round trips,
 * more when a filter matches seldom. Trees and leaves are one script.
 */
export class RedisResponseGraph extends ResponseGraph {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly locators: Locators,
    private readonly responses: ListedResponses,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const { sessionId, model, status, metadata, createdFrom, createdBefore } = filter;
    const index = sessionId === undefined ? this.keys.responsesOf(tenant) : this.keys.place(tenant, sessionId).members;
    const criteria = {
      within: withinOf(sessionId),
      model: model === undefined ? undefined : toKey(model),
      status,
      labels: toLabels(tenant, metadata ?? {}),
    };
    return this.page(tenant, { index, criteria, createdFrom, createdBefore }, page);
  }

  override async children(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ResponsePage | undefined> {
    const node = await this.find(tenant, toKey(responseId), within);
    return node && this.page(tenant, this.childrenOf(tenant, node, within), page);
  }

  override async siblings(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ResponsePage | undefined> {
    const node = await this.find(tenant, toKey(responseId), within);
    if (node === undefined) return undefined;
    const place = this.keys.place(tenant, node.lock);
    const [parentKey] = await this.redis.read(['HGET', place.responseOfKey(node.responseKey), 'parent']);
    const parent = typeof parentKey === 'string' ? await this.find(tenant, parentKey, within, node.lock) : undefined;
    if (parent !== undefined) return this.page(tenant, this.childrenOf(tenant, parent, within), page, node.responseKey);
    requireNoCursor(page);
    return { data: [], hasMore: false };
  }

  override async leaves(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ResponsePage | undefined> {
    const lock = await this.locators.find(tenant, responseId);
    if (lock === undefined) return undefined;
    const { base } = this.keys.place(tenant, lock);
    const script = run(LEAVES, [base], this.clock.now(), withinOf(within), toKey(responseId));
    const [reply] = (await this.redis.read(script)) as readonly LeavesReply[];
    if (reply == null) return undefined;
    if (reply === 'too large') throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    const leaves = toLeaves(reply, lock);
    if (!isForward(page)) leaves.reverse();
    const cursor = page.after ?? page.before;
    const position = cursor === undefined ? -1 : leaves.findIndex(({ responseKey }) => responseKey === toKey(cursor));
    if (cursor !== undefined && position < 0) throw new UnknownCursorError(page);
    return this.show(tenant, leaves.slice(position + 1), page, withinOf(within));
  }

  override async tree(
    tenant: Tenant,
    responseId: string,
    { depth, limit }: TreeBounds,
    within?: string,
  ): Promise<TreeNode | undefined> {
    const lock = await this.locators.find(tenant, responseId);
    if (lock === undefined) return undefined;
    const { base } = this.keys.place(tenant, lock);
    const script = run(TREE, [base], this.clock.now(), withinOf(within), toKey(responseId), depth, limit);
    const [reply] = (await this.redis.read(script)) as readonly TreeReply[];
    if (reply == null) return undefined;
    if (reply === 'too large') throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    return toTree(reply);
  }

  /** A visible response. `lock`: whose place it lies in, if it is known. */
  private async find(
    tenant: Tenant,
    responseKey: string,
    within: string | undefined,
    lock?: string,
  ): Promise<Listed | undefined> {
    const { matching } = await this.responses.match(tenant, [responseKey], { within: withinOf(within) }, lock);
    return matching[0];
  }

  private childrenOf(tenant: Tenant, { responseKey, lock }: Listed, within: string | undefined): List {
    const index = this.keys.place(tenant, lock).children(responseKey);
    return { index, criteria: { within: withinOf(within) }, lock };
  }

  /** One page of a list without one of its responses. Throws UnknownCursorError. */
  private async page(tenant: Tenant, list: List, page: PageRequest, except?: string): Promise<ResponsePage> {
    const cursor = page.after ?? page.before;
    if (cursor !== undefined) {
      const [known] = await this.responses.confirm(tenant, list, [toKey(cursor)]);
      if (known === undefined || known.responseKey === except) throw new UnknownCursorError(page);
    }
    const candidates: Listed[] = [];
    // One more tells whether there are more, and another one may be left out.
    for await (const batch of this.responses.walk(tenant, list, page, page.limit + 2)) {
      candidates.push(...batch.filter(({ responseKey }) => responseKey !== except));
      if (candidates.length > page.limit) break;
    }
    return this.show(tenant, candidates, page, list.criteria.within);
  }

  /** The first of the candidates, bounded in number and size before they are read. */
  private async show(
    tenant: Tenant,
    candidates: readonly Listed[],
    { limit, before }: PageRequest,
    within: string,
  ): Promise<ResponsePage> {
    let [bytes, count] = [0, 0];
    for (const { size } of candidates.slice(0, limit)) {
      bytes += size;
      if (count > 0 && bytes > PAGE_BYTES) break;
      count += 1;
    }
    const shown = candidates.slice(0, count);
    const data = await this.responses.read(tenant, before === undefined ? shown : shown.reverse(), within);
    return { data, hasMore: candidates.length > count };
  }
}

function requireNoCursor(page: PageRequest): void {
  if (page.after !== undefined || page.before !== undefined) throw new UnknownCursorError(page);
}

/** By creation, then by id. */
function toLeaves(reply: readonly string[], lock: string): Listed[] {
  return Array.from({ length: reply.length / 3 }, (_, index) => ({
    responseKey: reply[3 * index] ?? '',
    lock,
    createdAt: Number(reply[3 * index + 1]),
    size: Number(reply[3 * index + 2]),
  })).sort((one, other) => one.createdAt - other.createdAt || (one.responseKey < other.responseKey ? -1 : 1));
}

/** Builds a tree from rows, the root first. */
function toTree(rows: readonly TreeRow[]): TreeNode | undefined {
  const childrenOf = new Map<string | null, TreeRow[]>();
  for (const row of rows) {
    const siblings = childrenOf.get(row[1]) ?? [];
    siblings.push(row);
    childrenOf.set(row[1], siblings);
  }
  const toNode = (row: TreeRow): TreeNode => {
    const [id, , hasMore, status, body, output] = row;
    const response = readResponse(toTexts([status, body, output]));
    return { response, children: (childrenOf.get(id) ?? []).map(toNode), hasMore: hasMore === 1 };
  };
  const [root] = rows;
  return root && toNode(root);
}
