import { ConversationChangedError, WriteLockLostError } from '../errors.js';
import { conversationLock } from '../write-lock.js';

/** Why a turn is not appended to its conversation (scripts/conversations.ts, `turnRefusal`). */
export type TurnRefusal = 'lost' | 'deleted' | 'changed';

/** The error of a turn that is refused. */
export function toTurnError(
  refusal: TurnRefusal,
  conversationId: string,
): WriteLockLostError | ConversationChangedError {
  if (refusal === 'lost') return new WriteLockLostError(conversationLock(conversationId));
  return new ConversationChangedError(conversationId, refusal === 'deleted');
}
