/** Parts of the JSON Schemas of PROVIDERS_FILE. */

import { LONGEST_DELAY_MS } from '../../time/index.js';

export const text = { type: 'string', minLength: 1 };
export const member = { type: 'string', pattern: '^[A-Za-z][\\w.-]*$', description: 'must be the name of a member' };
export const flag = { type: 'boolean' };
export const milliseconds = { type: 'integer', minimum: 1, maximum: LONGEST_DELAY_MS };
export const tokens = { type: 'integer', minimum: 1 };
export const texts = { type: 'object', additionalProperties: { type: 'string' } };

/** A schema of one of several values. */
export function oneOf(...words: readonly string[]): object {
  return { enum: words };
}
