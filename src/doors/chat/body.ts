import {
  Allow,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { LONGEST_MODEL } from '../../protocol/index.js';

import { metadata } from '../../responses/index.js';
import {
  Closed,
  described,
  listOf,
  nested,
  OptionalNumber,
  Satisfies,
  stringOr,
  tooLong,
  tooManyElements,
  unionBy,
  wrongType,
} from '../../validation/index.js';
import { LONGEST_STOP } from '../stop-scanner.js';
import { messages } from './message-rules.js';
import { tool, toolChoice } from './tool-rules.js';

/** Texts in `stop`. */
const MOST_STOPS = 4;

@Closed()
class ChatJsonSchema {
  @IsString()
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @IsObject()
  readonly schema?: object | null;

  @IsOptional()
  @IsBoolean()
  readonly strict?: boolean | null;
}

@Closed()
class ChatJsonSchemaFormat {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatJsonSchema))
  readonly json_schema!: ChatJsonSchema;
}

/** A `response_format` that has nothing but a type. */
@Closed()
class ChatPlainFormat {
  @IsString()
  readonly type!: string;
}

const plainFormat = nested(ChatPlainFormat);

const responseFormat = unionBy('type', {
  text: plainFormat,
  json_object: plainFormat,
  json_schema: nested(ChatJsonSchemaFormat),
});

@Closed()
class ChatStreamOptions {
  @IsOptional()
  @IsBoolean()
  readonly include_usage?: boolean | null;

  @IsOptional()
  @IsBoolean()
  readonly include_obfuscation?: boolean | null;
}

/** One text or up to four, at which the answer ends. */
const stop = stringOr({
  kind: 'array',
  check: described(
    (value) => {
      const texts = value as readonly unknown[];
      if (texts.length > MOST_STOPS) return tooManyElements(MOST_STOPS, texts.length);
      for (const [index, text] of texts.entries()) {
        if (typeof text !== 'string') return wrongType('a string', text).at(index);
        if (text.length > LONGEST_STOP) return tooLong(LONGEST_STOP, text).at(index);
      }
      return null;
    },
    { type: 'array', maxItems: MOST_STOPS, items: { type: 'string', maxLength: LONGEST_STOP } },
  ),
  maxLength: LONGEST_STOP,
  expected: 'one of a string or array of strings',
});

/**
 * The body of `POST /chat/completions`: the form of every member. What a member means is checked once it is one of the Responses API
 * (request.ts). The order of the properties is the order in which their violations are reported.
 */
export class ChatCompletionBody {
  @IsString()
  @MaxLength(LONGEST_MODEL)
  readonly model!: string;

  @Satisfies(messages)
  readonly messages!: readonly object[];

  @IsOptional()
  @Satisfies(listOf(tool, 'an array of tools'))
  readonly tools?: readonly object[] | null;

  @IsOptional()
  @Satisfies(toolChoice)
  readonly tool_choice?: string | object | null;

  @IsOptional()
  @IsBoolean()
  readonly parallel_tool_calls?: boolean | null;

  @IsOptional()
  @Satisfies(responseFormat)
  readonly response_format?: object | null;

  @IsOptional()
  @IsBoolean()
  readonly stream?: boolean | null;

  @IsOptional()
  @Satisfies(nested(ChatStreamOptions))
  readonly stream_options?: ChatStreamOptions | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  readonly max_completion_tokens?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  readonly max_tokens?: number | null;

  @IsOptional()
  @IsBoolean()
  readonly logprobs?: boolean | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(20)
  readonly top_logprobs?: number | null;

  @IsOptional()
  @Satisfies(stop)
  readonly stop?: string | readonly string[] | null;

  @IsOptional()
  @IsInt()
  readonly n?: number | null;

  @IsOptional()
  @IsInt()
  readonly seed?: number | null;

  @IsOptional()
  @IsObject()
  readonly logit_bias?: object | null;

  @IsOptional()
  @IsArray()
  @IsIn(['text', 'audio'], { each: true })
  readonly modalities?: readonly string[] | null;

  @OptionalNumber(0, 2)
  readonly temperature?: number | null;

  @OptionalNumber(0, 1)
  readonly top_p?: number | null;

  @OptionalNumber(-2, 2)
  readonly presence_penalty?: number | null;

  @OptionalNumber(-2, 2)
  readonly frequency_penalty?: number | null;

  @IsOptional()
  @IsString()
  readonly reasoning_effort?: string | null;

  @IsOptional()
  @IsString()
  readonly verbosity?: string | null;

  @IsOptional()
  @IsBoolean()
  readonly store?: boolean | null;

  @IsOptional()
  @Satisfies(metadata)
  readonly metadata?: Readonly<Record<string, string>> | null;

  @IsOptional()
  @IsString()
  readonly user?: string | null;

  @IsOptional()
  @IsString()
  readonly safety_identifier?: string | null;

  @IsOptional()
  @IsString()
  readonly prompt_cache_key?: string | null;

  @IsOptional()
  @IsString()
  readonly prompt_cache_retention?: string | null;

  @IsOptional()
  @IsObject()
  readonly prompt_cache_options?: object | null;

  @IsOptional()
  @IsString()
  readonly service_tier?: string | null;

  @Allow()
  readonly moderation?: unknown;

  // Refused in request.ts, with what to use instead.
  @Allow()
  readonly audio?: unknown;

  @Allow()
  readonly function_call?: unknown;

  @Allow()
  readonly functions?: unknown;

  @Allow()
  readonly prediction?: unknown;

  @Allow()
  readonly web_search_options?: unknown;
}
