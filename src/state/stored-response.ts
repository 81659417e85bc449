import type { Item, Origin, ResponseObject } from '../protocol/index.js';
import { isObject } from '../json.js';
import { DamagedRecordError } from './errors.js';
import { parseStored, readRecord } from './read-record.js';
import { readable } from './readable-page.js';
import type { TreeNode } from './response-graph.js';

/** A response as databases store it. */
export interface StoredResponse {
  /** As of `toKey`. */
  readonly id: string;
  /** The Response without its output, as JSON. The body of one that has not ended is that of its creation. */
  readonly body: string;
  readonly status: ResponseObject['status'];
  /** The output items, as `readItems` takes them. */
  readonly output: string | null;
}

/** How damage in a response is named. */
export function responseRecord(id: string): string {
  return `/v1/responses/${id}`;
}

/** How damage in the events of a response is named. */
export function logRecord(id: string): string {
  return `the log of ${responseRecord(id)}`;
}

/** How damage in what a response is continued with is named: in it, or in what it continues. */
export function contextRecord(id: string): string {
  return `the context up to ${responseRecord(id)}`;
}

/** A stored response as clients see it. Throws DamagedRecordError. */
export function readResponse({ id, body, status, output }: StoredResponse): ResponseObject {
  const record = responseRecord(id);
  return { ...readRecord<ResponseObject>(body, record, 'id'), status, output: readItems(output, record) };
}

/** A stored response of a tree. */
export interface TreeRow extends StoredResponse {
  readonly key: string | number;
  /** The key of the response that it continues; null at the root. */
  readonly parent: string | number | null;
  /** At least one more than there are rows that continue it, if the limits of the request omitted some. */
  readonly children: number;
}

/**
 * Builds a tree of a tenant from rows, the root first. A damaged response is left out with what is below it, as if the limits had omitted it.
 * Throws DamagedRecordError for a damaged root.
 */
export function toTree(tenant: string, rows: readonly TreeRow[]): TreeNode | undefined {
  const childrenOf = Map.groupBy(rows, ({ parent }) => parent);
  const toNode = (row: TreeRow): TreeNode => {
    const below = childrenOf.get(row.key) ?? [];
    const children = below.flatMap((child) => readable(tenant, () => toNode(child)) ?? []);
    return { response: readResponse(row), children, hasMore: children.length < Math.max(below.length, row.children) };
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

/** Parses comma-separated JSON texts; null: there are none. `record` names what they belong to. Throws DamagedRecordError. */
export function readItems(texts: string | null, record: string): readonly Item[] {
  if (texts === null) return [];
  const items = parseStored(`[${texts}]`, record) as readonly Item[];
  for (const item of items) if (!isItem(item)) throw new DamagedRecordError(record, 'an item was expected');
  return items;
}

/** Parses the JSON of an item. Throws DamagedRecordError. */
export function readItem(text: string, record: string): Item {
  return readRecord<Item>(text, record, 'type');
}

/** Parses where a response came from; null when that is not known. Throws DamagedRecordError. */
export function readOrigin(text: string | null, record: string): Origin | null {
  return text === null ? null : readRecord<Origin>(text, record);
}

function isItem(value: unknown): boolean {
  return isObject(value) && typeof value['type'] === 'string';
}

/** The bytes of texts together. */
export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
