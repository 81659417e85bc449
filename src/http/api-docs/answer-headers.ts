import type { Operation } from '../api-description/index.js';
import type { ErrorCode } from '../../protocol/index.js';
import type { JsonSchema } from '../../validation/index.js';

const header = (description: string, type: string): JsonSchema => ({ description, schema: { type } });

/** The headers of answers, as `components/headers` has them. */
export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  'x-request-id': header('The id of the request: what the client has sent, or a new one. It is in the logs.', 'string'),
  'openai-processing-ms': header('Milliseconds until the answer, or until the first event of a stream.', 'integer'),
  'openai-version': header('The version of the API.', 'string'),
  'www-authenticate': header('`Bearer`.', 'string'),
  'retry-after': header('Seconds after which the client may try again.', 'integer'),
  'x-ratelimit-limit-requests': header('Turns per minute; absent without such a limit.', 'integer'),
  'x-ratelimit-limit-tokens': header('Tokens per minute; absent without such a limit.', 'integer'),
  'x-ratelimit-remaining-requests': header('Turns that are left in this minute.', 'integer'),
  'x-ratelimit-remaining-tokens': header('Tokens that are left in this minute.', 'integer'),
  'x-ratelimit-reset-requests': header('Until the minute is over, such as `1.5s` or `6m0s`.', 'string'),
  'x-ratelimit-reset-tokens': header('Until the minute is over, such as `1.5s` or `6m0s`.', 'string'),
};

/** The statuses after which clients may try again. */
const RETRIED: ReadonlySet<number> = new Set([409, 429, 503]);

/** Codes of other statuses after which they may. */
const RETRIED_CODES: ReadonlySet<ErrorCode> = new Set(['conversation_locked']);

/** The headers of an answer of an operation; `codes` are those of a refusal. */
export function headersOf({ isTurn = false }: Operation, status: number, codes: readonly ErrorCode[] = []): JsonSchema {
  return Object.fromEntries(
    Object.keys(HEADERS)
      .filter((name) => {
        if (name === 'www-authenticate') return status === 401;
        if (name === 'retry-after') return RETRIED.has(status) || codes.some((code) => RETRIED_CODES.has(code));
        return !name.startsWith('x-ratelimit-') || (isTurn && (status === 200 || status === 429));
      })
      .map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
