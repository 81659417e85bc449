import type { Item, ResponseObject } from '../../protocol/index.js';
import type { ResponseRecord } from '../response-store.js';
import { toKey, toLabels } from './keys.js';
import type { ResponseRow } from './statements/read.js';
import type { SaveValues } from './statements/save.js';

/** The part of SAVE's values that describes the response itself and its items. */
type Columns = SaveValues extends readonly [string, string, string | null, string, ...infer Rest] ? Rest : never;

/** A response as columns. Its output is stored with its items, once. */
export function toColumns(owner: string, record: ResponseRecord, inherited: readonly Item[]): Columns {
  const { response, input, origin, fence, expiresAt } = record;
  const { metadata } = response;
  const body = JSON.stringify({ ...response, output: [] });
  const others = [...inherited, ...input];
  const outputs = response.output.map((item) => JSON.stringify(item));
  const items = [...others.map((item) => JSON.stringify(item)), ...outputs];
  const kinds = [...inherited.map(() => 'inherited'), ...input.map(() => 'input'), ...outputs.map(() => 'output')];
  return [
    response.status,
    toKey(response.model),
    new Date(response.created_at * 1000),
    new Date(expiresAt),
    metadata === null || Object.keys(metadata).length === 0 ? null : toLabels(owner, metadata),
    origin === null ? null : JSON.stringify(origin),
    bytesOf([body, ...outputs]),
    bytesOf(items),
    body,
    fence,
    kinds,
    [...others, ...response.output].map(({ id }) => toKey(id)),
    items,
  ];
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}

/** A stored response as clients see it. */
export function readResponse({ body, output }: ResponseRow): ResponseObject {
  return { ...(JSON.parse(body) as ResponseObject), output: readItems(output) };
}

/** JSON texts with commas between them. */
export function readItems(texts: string | null): readonly Item[] {
  return texts === null ? [] : (JSON.parse(`[${texts}]`) as Item[]);
}
