import type { Item, ResponseObject } from '../protocol/index.js';
import type { TreeNode } from './response-graph.js';

/** A response as databases store it. */
export interface StoredResponse {
  /** The Response without its output, as JSON. The body of one that has not ended is that of its creation. */
  readonly body: string;
  readonly status: ResponseObject['status'];
  /** The output items, as `readItems` takes them. */
  readonly output: string | null;
}

/** A stored response as clients see it. */
export function readResponse({ body, status, output }: StoredResponse): ResponseObject {
  return { ...(JSON.parse(body) as ResponseObject), status, output: readItems(output) };
}

/** A stored response of a tree. */
export interface TreeRow extends StoredResponse {
  readonly key: string | number;
  /** The key of the response that it continues; null at the root. */
  readonly parent: string | number | null;
  /** At least one more than there are rows that continue it, if the limits of the request omitted some. */
  readonly children: number;
}

/** Builds a tree from rows, the root first. */
export function toTree(rows: readonly TreeRow[]): TreeNode | undefined {
  const childrenOf = Map.groupBy(rows, ({ parent }) => parent);
  const toNode = (row: TreeRow): TreeNode => {
    const children = (childrenOf.get(row.key) ?? []).map(toNode);
    return { response: readResponse(row), children, hasMore: children.length < row.children };
  };
  const [root] = rows;
  return root && toNode(root);
}

/** The Response without its output, as JSON. */
export function toBody(response: ResponseObject): string {
  return JSON.stringify({ ...response, output: [] });
}

/** A response that may get other metadata, with these: only one with an answer, whose body changes in no other way. */
export function withMetadata(
  response: ResponseObject | undefined,
  metadata: ResponseObject['metadata'],
): ResponseObject | undefined {
  const isAnswered = response?.status === 'completed' || response?.status === 'incomplete';
  return isAnswered ? { ...response, metadata } : undefined;
}

/** Parses comma-separated JSON texts; null: there are none. */
export function readItems(texts: string | null): readonly Item[] {
  return texts === null ? [] : (JSON.parse(`[${texts}]`) as Item[]);
}

/** The bytes of texts together. */
export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
