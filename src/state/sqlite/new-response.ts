import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type { ConversationPlace } from '../conversation-store.js';
import type { ResponseRecord } from '../response-store.js';
import { toBody } from '../stored-response.js';
import type { UsageRecord } from '../usage-store.js';

/** An item as it is stored: its id as clients send it, and its JSON. */
export interface ItemText {
  readonly id: string;
  readonly text: string;
}

/** The place of a turn in its conversation (ConversationPlace). */
export interface PlaceText {
  readonly id: string;
  readonly version: number;
  readonly omits: string | null;
}

/** What the end of a response adds to it. */
export interface OutputTexts {
  readonly usage: UsageRecord | null;
  readonly output: readonly ItemText[];
  /** As GivenItems. */
  readonly given: readonly { readonly after: number; readonly items: readonly ItemText[] }[];
}

/**
 * A response for the thread of the database. Names are as clients send them: the thread makes keys of them, which takes
 * time. Texts are JSON, which crosses threads faster than objects.
 */
export interface NewResponse extends OutputTexts {
  readonly tenant: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly sessionId: string;
  /** Most responses that its session may have with this one. */
  readonly sessionLimit?: number | undefined;
  readonly status: string;
  readonly model: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly isContinuable: boolean;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly origin: string | null;
  /** The Response without its output. */
  readonly body: string;
  /** Items before the input, for a response without a stored parent. */
  readonly inherited: readonly string[];
  readonly input: readonly ItemText[];
  readonly conversation: PlaceText | null;
}

/** What became of it. `saved`: also when it was stored before. `unlinked`: its parent is not stored, and nothing is. */
export type SaveOutcome = 'saved' | 'unlinked';

/** A record for the thread of the database, with what came before it only when that is not stored. */
export function toNewResponse(
  tenant: Tenant,
  record: ResponseRecord,
  parentId: string | null,
  isContinuable = true,
): NewResponse {
  const { response, origin, conversation } = record;
  const { metadata } = response;
  return {
    tenant,
    id: response.id,
    parentId,
    sessionId: record.sessionId,
    sessionLimit: record.sessionLimit,
    status: response.status,
    model: response.model,
    createdAt: response.created_at,
    expiresAt: record.expiresAt,
    isContinuable,
    metadata: metadata === null || Object.keys(metadata).length === 0 ? null : metadata,
    origin: origin === null ? null : JSON.stringify(origin),
    body: toBody(response),
    inherited: parentId === null ? record.inherited.map((item) => JSON.stringify(item)) : [],
    input: toTexts(record.input),
    ...toOutputTexts(record),
    conversation: conversation && toPlace(conversation),
  };
}

/** The output of a response, what was given in between, and what it has used. */
export function toOutputTexts({
  response,
  given,
  usage,
}: Pick<ResponseRecord, 'response' | 'given' | 'usage'>): OutputTexts {
  return {
    usage: usage ?? null,
    output: toTexts(response.output),
    given: given.map(({ after, items }) => ({ after, items: toTexts(items) })),
  };
}

/** The place of a turn in its conversation. */
export function toPlace({ id, version, omits }: ConversationPlace): PlaceText {
  return { id, version, omits: omits ?? null };
}

/** Items as they are stored. */
export function toTexts(items: readonly Item[]): readonly ItemText[] {
  return items.map((item) => ({ id: item.id, text: JSON.stringify(item) }));
}
