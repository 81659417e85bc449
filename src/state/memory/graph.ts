import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import { GraphTooLargeError, UnknownCursorError } from '../errors.js';
import { toLabels } from '../keys.js';
import { type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import type { MemoryState } from './state.js';
import { descend, type GoneNode, type Node } from './node.js';
import { entriesOf, toSortedList } from './small-list.js';
import { SortedList, type SortedPlace } from './sorted-list.js';

type ResponsePage = Page<ResponseObject>;

/** A list: those of the nodes that it shows. */
interface List {
  readonly nodes: SortedList<Node>;
  readonly shows: (node: Node) => boolean;
  /** Whether it showed one that is gone. */
  readonly had: (gone: GoneNode) => boolean;
}

/** Lists and trees of responses in memory. */
export class MemoryResponseGraph extends ResponseGraph {
  constructor(private readonly state: MemoryState) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const { sessionId } = filter;
    const nodes = sessionId === undefined ? this.state.ofTenant(tenant) : this.state.ofSession(tenant, sessionId);
    const shows = (node: Node): boolean => this.state.shows(node) && matches(node, filter);
    const labels = toLabels(tenant, filter.metadata ?? {});
    const had = (gone: GoneNode): boolean => wasIn(gone, sessionId) && matched(gone, filter, labels);
    return this.pageOf(tenant, page, { nodes, shows, had });
  }

  override async children(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    return this.pageOf(tenant, page, {
      nodes: toSortedList(node.children),
      shows: (child) => this.state.shows(child, within),
      had: (gone) => gone.parentId === responseId && wasIn(gone, within),
    });
  }

  override async siblings(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    const { parent } = node;
    const siblings = parent !== null && this.state.shows(parent, within) ? parent.children : undefined;
    return this.pageOf(tenant, page, {
      nodes: toSortedList(siblings),
      shows: (sibling) => sibling !== node && this.state.shows(sibling, within),
      had: (gone) => parent !== null && gone.parentId === parent.id && wasIn(gone, within),
    });
  }

  override async leaves(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    const shows = (other: Node): boolean => this.state.shows(other, within);
    const nodes: Node[] = [];
    for (const [next] of descend(node, shows)) {
      if (nodes.push(next) > GRAPH_MAX_RESPONSES) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    }
    const leaves = nodes.filter(({ children }) => ![...entriesOf(children)].some(shows));
    const had = (gone: GoneNode): boolean => wasIn(gone, within) && this.isBelow(tenant, gone, responseId);
    return this.pageOf(tenant, page, { nodes: SortedList.of(leaves), shows, had });
  }

  override async tree(tenant: Tenant, responseId: string, { depth, limit }: TreeBounds, within?: string) {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    const shows = (other: Node): boolean => this.state.shows(other, within);
    const root = rootOf(node, shows);
    const shown = new Set<Node>();
    let bytes = 0;
    for (const [next, level] of descend(root, shows)) {
      bytes += next.bytes;
      if (level > depth || shown.size === limit || (shown.size > 0 && bytes > PAGE_BYTES)) break;
      shown.add(next);
    }
    const toTree = (of: Node): TreeNode => {
      const children = [...entriesOf(of.children)].filter(shows);
      const included = children.filter((child) => shown.has(child));
      return { response: of.response, children: included.map(toTree), hasMore: included.length < children.length };
    };
    return toTree(root);
  }

  /** Throws UnknownCursorError. */
  private pageOf(tenant: Tenant, page: PageRequest, list: List): ResponsePage {
    const cursor = page.after ?? page.before;
    const place = cursor === undefined ? undefined : this.placeOf(tenant, cursor, list);
    if (cursor !== undefined && place === undefined) throw new UnknownCursorError(page);
    const { data, hasMore } = list.nodes.page(page, place, list.shows);
    return { data: data.map(({ response }) => response), hasMore };
  }

  /** Where a response stands in a list, or stood before it went. */
  private placeOf(tenant: Tenant, responseId: string, { nodes, shows, had }: List): SortedPlace | undefined {
    const node = this.state.find(tenant, responseId);
    if (node !== undefined) return nodes.has(node) && shows(node) ? node : undefined;
    const gone = this.state.findGone(tenant, responseId);
    return gone !== undefined && had(gone) ? gone : undefined;
  }

  /** Whether a response that is gone continued another one, or what continued that. */
  private isBelow(tenant: Tenant, gone: GoneNode, responseId: string): boolean {
    let { parentId } = gone;
    for (let climbed = 0; parentId !== null && climbed < GRAPH_MAX_RESPONSES; climbed += 1) {
      if (parentId === responseId) return true;
      const node = this.state.find(tenant, parentId);
      parentId = (node === undefined ? this.state.findGone(tenant, parentId)?.parentId : node.parent?.id) ?? null;
    }
    return false;
  }
}

function wasIn({ sessions }: GoneNode, within: string | undefined): boolean {
  return within === undefined || sessions.includes(within);
}

/** The earliest visible ancestor. */
function rootOf(node: Node, shows: (node: Node) => boolean): Node {
  let root = node;
  for (let climbed = 1; root.parent !== null && shows(root.parent); climbed += 1) {
    if (climbed === GRAPH_MAX_RESPONSES) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    root = root.parent;
  }
  return root;
}

function matches({ response, createdAt }: Node, filter: ResponseFilter): boolean {
  const matchesMetadata = ([name, value]: [string, string]): boolean => response.metadata?.[name] === value;
  return (
    isOf({ model: response.model, status: response.status, createdAt }, filter) &&
    Object.entries(filter.metadata ?? {}).every(matchesMetadata)
  );
}

/** Whether a filter showed a response that is gone. `labels`: those of its metadata. */
function matched(gone: GoneNode, filter: ResponseFilter, labels: readonly string[]): boolean {
  return isOf(gone, filter) && labels.every((label) => gone.labels.includes(label));
}

function isOf(
  { model, status, createdAt }: Pick<GoneNode, 'model' | 'status' | 'createdAt'>,
  filter: ResponseFilter,
): boolean {
  if (filter.model !== undefined && model !== filter.model) return false;
  if (filter.statuses?.includes(status) === false) return false;
  return createdAt >= (filter.createdFrom ?? -Infinity) && createdAt < (filter.createdBefore ?? Infinity);
}
