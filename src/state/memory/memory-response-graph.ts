import type { Tenant } from '../../access/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import { GraphTooLargeError } from '../errors.js';
import { type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import {
  GRAPH_MAX_RESPONSES,
  type ResponseFilter,
  ResponseGraph,
  type TreeBounds,
  type TreeNode,
} from '../response-graph.js';
import type { MemoryState } from './memory-state.js';
import { descend, type Node } from './node.js';
import { entriesOf, toSortedList } from './small-list.js';
import { SortedList } from './sorted-list.js';

type ResponsePage = Page<ResponseObject>;

/** Lists and trees of responses in memory. */
export class MemoryResponseGraph extends ResponseGraph {
  constructor(private readonly state: MemoryState) {
    super();
  }

  override async list(tenant: Tenant, filter: ResponseFilter, page: PageRequest): Promise<ResponsePage> {
    const { sessionId } = filter;
    const nodes = sessionId === undefined ? this.state.ofTenant(tenant) : this.state.ofSession(tenant, sessionId);
    return this.pageOf(nodes, tenant, page, (node) => this.state.shows(node) && matches(node, filter));
  }

  override async children(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ResponsePage | undefined> {
    const node = this.state.find(tenant, responseId, within);
    return node && this.pageOf(toSortedList(node.children), tenant, page, (child) => this.state.shows(child, within));
  }

  override async siblings(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ResponsePage | undefined> {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    const { parent } = node;
    const siblings = parent !== null && this.state.shows(parent, within) ? parent.children : undefined;
    return this.pageOf(
      toSortedList(siblings),
      tenant,
      page,
      (sibling) => sibling !== node && this.state.shows(sibling, within),
    );
  }

  override async leaves(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<ResponsePage | undefined> {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    const shows = (other: Node): boolean => this.state.shows(other, within);
    const nodes: Node[] = [];
    for (const [next] of descend(node, shows)) {
      if (nodes.push(next) > GRAPH_MAX_RESPONSES) throw new GraphTooLargeError(GRAPH_MAX_RESPONSES);
    }
    const leaves = nodes.filter(({ children }) => ![...entriesOf(children)].some(shows));
    return this.pageOf(SortedList.of(leaves), tenant, page, shows);
  }

  override async tree(
    tenant: Tenant,
    responseId: string,
    { depth, limit }: TreeBounds,
    within?: string,
  ): Promise<TreeNode | undefined> {
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

  private pageOf(
    nodes: SortedList<Node>,
    tenant: Tenant,
    page: PageRequest,
    shows: (node: Node) => boolean,
  ): ResponsePage {
    const { data, hasMore } = nodes.page(page, (id) => this.state.find(tenant, id), shows);
    return { data: data.map(({ response }) => response), hasMore };
  }
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

function matches({ response }: Node, filter: ResponseFilter): boolean {
  const { model, status, metadata = {}, createdFrom = -Infinity, createdBefore = Infinity } = filter;
  if (model !== undefined && response.model !== model) return false;
  if (status !== undefined && response.status !== status) return false;
  if (response.created_at < createdFrom || response.created_at >= createdBefore) return false;
  return Object.entries(metadata).every(([name, value]) => response.metadata?.[name] === value);
}
