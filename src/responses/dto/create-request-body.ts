import { Allow, IsArray, IsBoolean, IsIn, IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

import { LONGEST_MODEL } from '../../protocol/index.js';
import {
  belowMinimum,
  Closed,
  described,
  emptyArray,
  every,
  integer,
  listOf,
  nested,
  OptionalNumber,
  Satisfies,
  tooManyElements,
} from '../../validation/index.js';
import { conversation, INCLUDABLES, metadata, responseId } from './shared-members.js';
import { input } from './input-item.js';
import { PromptBody } from './prompt.js';
import { TextConfig } from './text-config.js';
import { toolChoice } from './tool-choice.js';
import { tool } from './tools.js';
import { AccessPrograms, ImageConfig, PromptCacheOptions, ReasoningConfig, StreamOptions } from './tuning.js';

/** `moderation` (protocol §2). */
class Moderation {
  @IsString()
  readonly model!: string;
}

/** `multi_agent` (protocol §2). */
@Closed()
class MultiAgent {
  @IsOptional()
  @IsBoolean()
  readonly enabled?: boolean | null;

  @Allow()
  readonly max_concurrent_subagents?: unknown;
}

/** An element of `context_management` (protocol §2). */
@Closed()
class ContextManagement {
  @IsString()
  @IsIn(['compaction'])
  readonly type!: string;

  @IsOptional()
  @IsInt()
  @Min(1000)
  readonly compact_threshold?: number | null;
}

/** There is only one kind of entry, and two would leave open which threshold counts. */
const exactlyOne = described(
  (value) => {
    const { length } = value as readonly unknown[];
    return length === 0 ? emptyArray() : length > 1 ? tooManyElements(1, length) : null;
  },
  { minItems: 1, maxItems: 1 },
);

/** `context_management` (protocol §2): a list of one entry. */
const contextManagement = every([listOf(nested(ContextManagement)), exactlyOne]);

/** OpenAI's least limit of an answer. */
const SHORTEST_ANSWER = 16;

/** The name of the rule that other APIs do not have: an answer has room for SHORTEST_ANSWER tokens. */
export const SHORT_ANSWERS = 'short_answers';

/** `max_output_tokens` (protocol §2). */
const outputLimit = described(
  (value, options) => {
    const wrong = integer(value, options);
    if (wrong !== null) return wrong;
    const least = options.tolerated?.has(SHORT_ANSWERS) === true ? 1 : SHORTEST_ANSWER;
    return (value as number) < least ? belowMinimum('integer', least, value as number) : null;
  },
  { type: 'integer', minimum: SHORTEST_ANSWER },
);

/** The only required member. A separate class, because its violations are reported first. */
export class ModelMember {
  @IsString()
  @MaxLength(LONGEST_MODEL)
  readonly model!: string;
}

/**
 * The body of `POST /responses` (protocol §2). The order of the properties is the order in which their violations are reported;
 * null stands for the default everywhere except in `model`.
 */
export class CreateRequestBody extends ModelMember {
  @IsOptional()
  @Satisfies(nested(Moderation))
  readonly moderation?: Moderation | null;

  @IsOptional()
  @Satisfies(input)
  readonly input?: string | readonly object[] | null;

  @IsOptional()
  @IsArray()
  @IsIn(INCLUDABLES, { each: true })
  readonly include?: readonly string[] | null;

  @IsOptional()
  @Satisfies(listOf(tool, 'an array of tools'))
  readonly tools?: readonly object[] | null;

  @IsOptional()
  @Satisfies(metadata)
  readonly metadata?: Readonly<Record<string, string>> | null;

  @IsOptional()
  @Satisfies(nested(TextConfig))
  readonly text?: TextConfig | null;

  @OptionalNumber(0, 2)
  readonly temperature?: number | null;

  @OptionalNumber(0, 1)
  readonly top_p?: number | null;

  @OptionalNumber(-2, 2)
  readonly presence_penalty?: number | null;

  @OptionalNumber(-2, 2)
  readonly frequency_penalty?: number | null;

  @IsOptional()
  @Satisfies(toolChoice)
  readonly tool_choice?: string | object | null;

  @IsOptional()
  @IsBoolean()
  readonly parallel_tool_calls?: boolean | null;

  @IsOptional()
  @IsBoolean()
  readonly stream?: boolean | null;

  @IsOptional()
  @Satisfies(nested(StreamOptions))
  readonly stream_options?: StreamOptions | null;

  @IsOptional()
  @IsBoolean()
  readonly background?: boolean | null;

  @IsOptional()
  @Satisfies(outputLimit)
  readonly max_output_tokens?: number | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  readonly max_tool_calls?: number | null;

  @IsOptional()
  @Satisfies(nested(ReasoningConfig))
  readonly reasoning?: ReasoningConfig | null;

  @IsOptional()
  @IsString()
  readonly user?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(128)
  readonly safety_identifier?: string | null;

  @IsOptional()
  @Satisfies(nested(PromptCacheOptions))
  readonly prompt_cache_options?: PromptCacheOptions | null;

  @IsOptional()
  @IsString()
  readonly prompt_cache_key?: string | null;

  @IsOptional()
  @IsIn(['in_memory', '24h'])
  readonly prompt_cache_retention?: string | null;

  @IsOptional()
  @IsIn(['auto', 'disabled'])
  readonly truncation?: string | null;

  @IsOptional()
  @IsString()
  readonly instructions?: string | null;

  @IsOptional()
  @IsBoolean()
  readonly store?: boolean | null;

  @IsOptional()
  @IsIn(['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'])
  readonly service_tier?: string | null;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(20)
  readonly top_logprobs?: number | null;

  @IsOptional()
  @Satisfies(contextManagement)
  readonly context_management?: readonly object[] | null;

  @IsOptional()
  @Satisfies(responseId)
  readonly previous_response_id?: string | null;

  @IsOptional()
  @Satisfies(conversation)
  readonly conversation?: string | { readonly id: string } | null;

  @IsOptional()
  @Satisfies(nested(PromptBody))
  readonly prompt?: PromptBody | null;

  @IsOptional()
  @Satisfies(nested(AccessPrograms))
  readonly access_programs?: AccessPrograms | null;

  @IsOptional()
  @Satisfies(nested(ImageConfig))
  readonly image?: ImageConfig | null;

  // Of the beta `responses_multi_agent=v1`.
  @IsOptional()
  @Satisfies(nested(MultiAgent))
  readonly multi_agent?: MultiAgent | null;

  @Allow()
  readonly input_transformations?: unknown;

  // Sent by Codex with every request; not part of OpenAI's types.
  @Allow()
  readonly client_metadata?: unknown;
}
