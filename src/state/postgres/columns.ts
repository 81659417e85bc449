import type { Item } from '../../protocol/index.js';
import { interleave } from '../given-items.js';
import type { ResponseRecord } from '../response-store.js';
import { toKey, toLabels } from '../keys.js';
import { bytesOf, toBody } from '../stored-response.js';
import type { ItemKind, SaveValues } from './statements/save.js';

interface ItemColumns {
  readonly kind: ItemKind;
  readonly key: string;
  readonly text: string;
}

/** The body of a response and its items, in the order of the transcript, as columns. */
export interface EndColumns {
  readonly body: string;
  readonly size: number;
  readonly itemsSize: number;
  readonly kinds: readonly ItemKind[];
  readonly keys: readonly string[];
  readonly texts: readonly string[];
}

/** The part of SAVE's values that describes the response itself and its items. */
type Columns = SaveValues extends readonly [
  string,
  string,
  string | null,
  string,
  ...infer Rest,
  string,
  string | null,
  number | null,
  Date,
]
  ? Rest
  : never;

/** A response as columns. Its output is stored only among its items. */
export function toColumns(tenant: string, record: ResponseRecord, inherited: readonly Item[]): Columns {
  const { response, origin, fence, expiresAt } = record;
  const before = [...toItemColumns('inherited', inherited), ...toItemColumns('input', record.input)];
  const { body, size, itemsSize, kinds, keys, texts } = toEndColumns(record, before);
  return [
    response.status,
    toKey(response.model),
    new Date(response.created_at * 1000),
    new Date(expiresAt),
    toLabelsColumn(tenant, response.metadata),
    origin === null ? null : JSON.stringify(origin),
    size,
    itemsSize,
    body,
    fence,
    kinds,
    keys,
    texts,
  ];
}

/** The labels of a response, null without any: only what has some is in their index. */
export function toLabelsColumn(
  tenant: string,
  metadata: ResponseRecord['response']['metadata'],
): readonly string[] | null {
  return metadata === null || Object.keys(metadata).length === 0 ? null : toLabels(tenant, metadata);
}

/** What the end of a background response adds to it. `before`: items that are stored with it, in front of its output. */
export function toEndColumns(
  { response, given }: Pick<ResponseRecord, 'response' | 'given'>,
  before: readonly ItemColumns[] = [],
): EndColumns {
  const body = toBody(response);
  const between = given.map(({ after, items }) => ({ after, items: toItemColumns('given', items) }));
  const items = [...before, ...interleave(toItemColumns('output', response.output), between)];
  const texts = items.map(({ text }) => text);
  const outputs = items.filter(({ kind }) => kind === 'output').map(({ text }) => text);
  return {
    body,
    size: bytesOf([body, ...outputs]),
    itemsSize: bytesOf(texts),
    kinds: items.map(({ kind }) => kind),
    keys: items.map(({ key }) => key),
    texts,
  };
}

function toItemColumns(kind: ItemKind, items: readonly Item[]): readonly ItemColumns[] {
  return items.map((item) => ({ kind, key: toKey(item.id), text: JSON.stringify(item) }));
}
