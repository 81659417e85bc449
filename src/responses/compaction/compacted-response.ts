import {
  ApiError,
  type CreateResponseRequest,
  ERROR_CODES,
  type ErrorCode,
  type InputItem,
  type Item,
  type Usage,
} from '../../protocol/index.js';
import type { CompactRequest } from '../dto/index.js';
import type { EndedTurn } from '../turn/index.js';

/** The body of `POST /responses/compact` (protocol §1.1). */
export interface CompactedResponse {
  /** Names no response that could be retrieved or continued. */
  readonly id: string;
  readonly object: 'response.compaction';
  /** Unix seconds. */
  readonly created_at: number;
  /** The new context: one compaction item. */
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
export function toCompactedResponse(response: EndedTurn['response']): CompactedResponse {
  const { id, created_at, output, usage, status, error } = response;
  if (status === 'completed') return { id, object: 'response.compaction', created_at, output, usage };
  const code = error?.code ?? 'server_error';
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'server_error';
  throw ApiError.of(known, error?.message ?? 'The context could not be compacted. Please retry your request.');
}
