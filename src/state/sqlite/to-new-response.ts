import type { Item } from '../../protocol/index.js';
import type { Tenant } from '../../access/index.js';
import type { ConversationPlace } from '../conversation-store.js';
import type { ResponseRecord } from '../response-store.js';
import { toBody } from '../stored-response.js';
import type { ItemText, NewResponse, OutputTexts, PlaceText } from './new-response.js';

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
