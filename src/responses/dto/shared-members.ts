import type { Includable } from '../../protocol/index.js';
import {
  type Check,
  clip,
  described,
  nested,
  recordOfStrings,
  Satisfies,
  schemaOf,
  stringOr,
  Violation,
  wrongType,
} from '../../validation/index.js';

/** An id with a prefix in a request (protocol §7); existence is checked later. */
function idWith(prefix: string): Check {
  const check: Check = (value) => {
    if (typeof value !== 'string') return wrongType('a string', value);
    if (!value.startsWith(prefix)) {
      return new Violation(
        'invalid_id_prefix',
        (path) => `Invalid '${path}': '${clip(value)}'. Expected an ID that begins with '${prefix}'.`,
      );
    }
    if (/^[\w-]+$/.test(value)) return null;
    return new Violation(
      'invalid_value',
      (path) =>
        `Invalid '${path}': '${clip(value)}'. Expected an ID that contains letters, numbers, underscores, or dashes, ` +
        'but this value contained additional characters.',
    );
  };
  return described(check, { type: 'string', pattern: `^${prefix}[A-Za-z0-9_-]*$` });
}

/** The id of a response. */
export const responseId = idWith('resp');

/** The id of a conversation. */
export const conversationId = idWith('conv');

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

/** `metadata` of responses and conversations (protocol §2). */
export const metadata = recordOfStrings({
  expected: 'a metadata object',
  maxProperties: 16,
  maxNameLength: 64,
  maxValueLength: 512,
});

/** The values of `include` (protocol §2). */
export const INCLUDABLES: readonly Includable[] = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
];
