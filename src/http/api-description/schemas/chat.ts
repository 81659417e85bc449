import type { JsonSchema } from '../../../validation/index.js';
import { FLAG, INTEGER, listOf, NUMBER, nullable, object, oneOf, ref, SECONDS, TEXT } from './shape.js';

const TOKEN = { token: TEXT, logprob: NUMBER, bytes: nullable(listOf(INTEGER)) };

const LOGPROBS = nullable(
  object({
    content: nullable(listOf(object({ ...TOKEN, top_logprobs: listOf(object(TOKEN)) }))),
    refusal: { type: 'null' },
  }),
);

const FINISH = oneOf('stop', 'length', 'tool_calls', 'content_filter');

/** What Chat Completions servers have agreed on beside OpenAI's members. */
const BESIDE = {
  reasoning_content: TEXT,
  reasoning_details: listOf(object({ type: oneOf('reasoning.encrypted'), id: TEXT, data: TEXT, index: INTEGER })),
  images: listOf(object({ type: oneOf('image_url'), image_url: object({ url: TEXT }) })),
};

const ANNOTATIONS = listOf(
  object({
    type: oneOf('url_citation'),
    url_citation: object({ url: TEXT, title: TEXT, start_index: INTEGER, end_index: INTEGER }),
  }),
);

const CALL: JsonSchema = {
  anyOf: [
    object({ id: TEXT, type: oneOf('function'), function: object({ name: TEXT, arguments: TEXT }) }),
    object({ id: TEXT, type: oneOf('custom'), custom: object({ name: TEXT, input: TEXT }) }),
  ],
};

const USAGE = object({
  prompt_tokens: INTEGER,
  completion_tokens: INTEGER,
  total_tokens: INTEGER,
  prompt_tokens_details: object({ cached_tokens: INTEGER, cache_write_tokens: INTEGER, audio_tokens: INTEGER }),
  completion_tokens_details: object({
    reasoning_tokens: INTEGER,
    audio_tokens: INTEGER,
    accepted_prediction_tokens: INTEGER,
    rejected_prediction_tokens: INTEGER,
  }),
});

/** What `/chat/completions` sends. */
export const CHAT_SCHEMAS = {
  ChatCompletion: object(
    {
      id: TEXT,
      object: oneOf('chat.completion'),
      created: SECONDS,
      model: TEXT,
      choices: listOf(
        object({
          index: INTEGER,
          message: object(
            {
              role: oneOf('assistant'),
              content: nullable(TEXT),
              refusal: nullable(TEXT),
              annotations: ANNOTATIONS,
            },
            { tool_calls: listOf(CALL), ...BESIDE },
          ),
          logprobs: LOGPROBS,
          finish_reason: FINISH,
        }),
      ),
    },
    {
      usage: ref('CompletionUsage'),
      service_tier: TEXT,
      metadata: { type: 'object', additionalProperties: TEXT },
    },
  ),
  ChatCompletionChunk: object(
    {
      id: TEXT,
      object: oneOf('chat.completion.chunk'),
      created: SECONDS,
      model: TEXT,
      choices: listOf(
        object({
          index: INTEGER,
          delta: object(
            {},
            {
              role: oneOf('assistant'),
              content: TEXT,
              refusal: nullable(TEXT),
              annotations: ANNOTATIONS,
              tool_calls: listOf(
                object(
                  { index: INTEGER },
                  {
                    id: TEXT,
                    type: oneOf('function', 'custom'),
                    function: object({}, { name: TEXT, arguments: TEXT }),
                    custom: object({}, { name: TEXT, input: TEXT }),
                  },
                ),
              ),
              ...BESIDE,
            },
          ),
          logprobs: LOGPROBS,
          finish_reason: nullable(FINISH),
        }),
      ),
    },
    { usage: nullable(ref('CompletionUsage')), service_tier: TEXT, obfuscation: TEXT },
  ),
  ChatMessage: object(
    {
      id: TEXT,
      role: TEXT,
      content: nullable(TEXT),
      content_parts: nullable(
        listOf({
          anyOf: [
            object({ type: oneOf('text'), text: TEXT }),
            object({ type: oneOf('image_url'), image_url: object({ url: TEXT }) }),
          ],
        }),
      ),
    },
    { refusal: TEXT, tool_calls: listOf(CALL), tool_call_id: TEXT, reasoning_content: TEXT },
  ),
  CompletionUsage: USAGE,
  DeletedChatCompletion: object({
    id: TEXT,
    object: oneOf('chat.completion.deleted'),
    deleted: { ...FLAG, const: true },
  }),
} as const satisfies Readonly<Record<string, JsonSchema>>;
