import { clip, described, Violation, wrongType, type Check } from '../../validation/index.js';

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
