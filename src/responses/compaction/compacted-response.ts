import type { Transcript } from '../../context/index.js';
import {
  ApiError,
  type CreateResponseRequest,
  type InputItem,
  isCompaction,
  isErrorCode,
  type Item,
  type Usage,
} from '../../protocol/index.js';
import { isUserMessage } from '../../providers/transcripts/index.js';
import type { CompactRequest } from '../dto/index.js';
import type { EndedTurn } from '../turn/save.js';

/** The body of `POST /responses/compact` (protocol §1.1). */
export interface CompactedResponse {
  /** Names no response that could be retrieved or continued. */
  readonly id: string;
  readonly object: 'response.compaction';
  /** Unix seconds. */
  readonly created_at: number;
  /** The new context: the messages of the user, oldest first, and the compaction item that stands for everything. */
  readonly output: readonly Item[];
  readonly usage: Usage | null;
}

const TRIGGER = { type: 'compaction_trigger' } as InputItem;

/** The create request with the same effect: its last item asks for a compaction, and nothing is stored. */
export function toCompactionRequest({ input, ...request }: CompactRequest): CreateResponseRequest {
  const items: readonly InputItem[] = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
  const isTriggered = items.at(-1)?.type === TRIGGER.type;
  return { ...request, input: isTriggered ? items : [...items, TRIGGER], store: false };
}

/** The compaction that such a request has made. Throws ApiError if it has failed. */
export function toCompactedResponse({ response, transcript }: EndedTurn): CompactedResponse {
  const { id, created_at, usage, status, error } = response;
  const object = 'response.compaction';
  if (status === 'completed') {
    return { id, object, created_at, output: [...userMessagesOf(transcript), ...response.output], usage };
  }
  const code = error?.code ?? 'server_error';
  throw ApiError.of(
    isErrorCode(code) ? code : 'server_error',
    error?.message ?? 'The context could not be compacted. Please retry your request.',
  );
}

/** All messages of the user. What an earlier compaction was given without its messages still has those that it kept. */
function userMessagesOf(transcript: Transcript): readonly Item[] {
  const messages: Item[] = [];
  for (const item of transcript.items) {
    if (isUserMessage(item)) messages.push(item);
    else if (isCompaction(item) && messages.length === 0) messages.push(...keptIn(item, transcript));
  }
  return messages;
}

function keptIn(compaction: Item, { opened }: Transcript): readonly Item[] {
  const items = opened.get(compaction);
  return items === undefined || typeof items === 'string' ? [] : items.filter(isUserMessage);
}
