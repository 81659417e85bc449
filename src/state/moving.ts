import { isDigest, toKey } from './keys.js';
import { type MovedEntry, type MovedResponse, StateTransferError } from './state-transfer.js';
import { conversationRecord } from './stored-conversation.js';
import { readItem } from './stored-response.js';

/**
 * The text of a key: itself, or the one of some texts whose digest it is. Throws StateTransferError when none is; `what` says
 * what it names.
 */
export function nameOf(key: string, what: string, ...candidates: readonly (string | null)[]): string {
  if (!isDigest(key)) return key;
  const name = candidates.find((candidate) => candidate !== null && toKey(candidate) === key);
  if (typeof name === 'string') return name;
  throw new StateTransferError(
    `The database has a ${what} whose name it stores only as a digest, so that it cannot be moved.`,
  );
}

/** The error for a response that would be stored before the one that it continues. */
export function withoutParent({ response, parentId }: MovedResponse): StateTransferError {
  return new StateTransferError(`the response ${response.id} continues ${parentId}, which is not there`);
}

/** The error for a response that would be stored before the conversation that it was made in. */
export function withoutConversation({ response, place }: MovedResponse): StateTransferError {
  return new StateTransferError(`the response ${response.id} is in ${place?.conversationId}, which is not there`);
}

/** The id that the body of a stored response says; null without a body. */
export function idOf(body: string | null): string | null {
  return body === null ? null : (JSON.parse(body) as { readonly id: string }).id;
}

/** A stored item of a conversation as it is moved: its position names it. Throws DamagedRecordError. */
export function toMovedEntry(conversationId: string, position: number, isGiven: boolean, body: string): MovedEntry {
  return { position, isGiven, item: readItem(body, `an item of ${conversationRecord(conversationId)}`) };
}

/** Rows in parts of at most so many, and at most so many bytes, unless one alone has more. */
export function inParts<T extends { readonly bytes: number | string }>(
  rows: readonly T[],
  most: number,
  mostBytes: number,
): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let room = 0;
  for (const row of rows) {
    const bytes = Number(row.bytes);
    const part = parts.at(-1);
    if (part === undefined || part.length === most || bytes > room) {
      parts.push([row]);
      room = mostBytes - bytes;
    } else {
      part.push(row);
      room -= bytes;
    }
  }
  return parts;
}
