import { ERROR_CODES } from '../../../protocol/index.js';
import type { JsonSchema } from '../../../validation/index.js';
import { ANSWER_SCHEMAS } from './answers.js';
import { CHAT_SCHEMAS } from './chat.js';
import { EVENT_SCHEMAS } from './events.js';
import { ITEM_SCHEMAS } from './items.js';
import { RESPONSE_SCHEMAS } from './response.js';

export { EVENT_TYPES, nameOfEvent } from './events.js';
export { ref } from './shape.js';
export { SOCKET_FRAMES } from './socket-frames.js';

/** A schema that the answer of a route may have. */
export type AnswerName = keyof typeof ANSWER_SCHEMAS | keyof typeof CHAT_SCHEMAS | 'Response' | 'Item';

/**
 * Everything that the service sends, by name. The types come from `openai` and do not exist at run time, so these are written by
 * hand; tests hold real answers against them.
 */
export const SENT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  // Open: an upstream may send codes of its own.
  ErrorCode: { anyOf: [{ type: 'string', enum: Object.keys(ERROR_CODES) }, { type: 'string' }] },
  ...RESPONSE_SCHEMAS,
  ...ITEM_SCHEMAS,
  ...ANSWER_SCHEMAS,
  ...CHAT_SCHEMAS,
  ...EVENT_SCHEMAS,
};
