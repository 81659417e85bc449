import { type Check, nested, Satisfies, stringOr } from '../../validation/index.js';
import { conversationId } from './prefixed-id.js';

/** A `conversation` given as an object (protocol §2). */
class ConversationReference {
  @Satisfies(conversationId)
  readonly id!: string;
}

const stringOrReference = stringOr({
  kind: 'object',
  check: nested(ConversationReference),
  expected: 'one of a string or object',
});

/** `conversation`: its id, or an object with the id (protocol §2). */
export const conversation: Check = (value, options) =>
  typeof value === 'string' ? conversationId(value, options) : stringOrReference(value, options);
