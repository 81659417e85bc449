import { clip, Violation, wrongType, type Check } from '../../validation/index.js';

/** The id of a response in a request (protocol §7); existence is checked later. */
export const responseId: Check = (value) => {
  if (typeof value !== 'string') return wrongType('a string', value);
  if (!value.startsWith('resp')) {
    return new Violation(
      'invalid_id_prefix',
      (path) => `Invalid '${path}': '${clip(value)}'. Expected an ID that begins with 'resp'.`,
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
