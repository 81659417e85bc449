import { described, nested, Satisfies, schemaOf, stringOr } from '../../validation/index.js';
import { conversationId } from './prefixed-id.js';

/** A `conversation` given as an object (protocol §2). */
class ConversationReference {
  @Satisfies(conversationId)
  readonly id!: string;
}

const reference = nested(ConversationReference);

const stringOrReference = stringOr({
  kind: 'object',
  check: reference,
  expected: 'one of a string or object',
});

/** `conversation`: its id, or an object with the id (protocol §2). */
export const conversation = described(
  (value, options) => (typeof value === 'string' ? conversationId(value, options) : stringOrReference(value, options)),
  (definitions) => ({ anyOf: [schemaOf(conversationId, definitions), schemaOf(reference, definitions)] }),
);
