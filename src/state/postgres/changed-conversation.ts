import { ConversationChangedError } from '../errors.js';
import { toKey } from '../keys.js';
import type { RunStatement } from './database.js';
import { GET_CONVERSATION } from './statements/conversations.js';

/** The error of a turn whose conversation is not as it has read it: changed, or deleted. */
export async function changedConversation(
  run: RunStatement,
  tenant: string,
  conversationId: string,
): Promise<ConversationChangedError> {
  const found = await run(GET_CONVERSATION, [tenant, toKey(conversationId)]);
  return new ConversationChangedError(conversationId, found.length === 0);
}
