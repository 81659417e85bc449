import { Allow, IsBoolean, IsIn, IsOptional, IsString } from 'class-validator';
import { Closed } from '../../validation/index.js';

/** The efforts of reasoning that models may have. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** `reasoning` (protocol §2). Support by the model is checked when the model is resolved. */
@Closed()
export class ReasoningConfig {
  @IsOptional()
  @IsIn(EFFORTS)
  readonly effort?: string | null;

  @IsOptional()
  @IsIn(['auto', 'concise', 'detailed'])
  readonly summary?: string | null;

  // The older name of `summary`, which openai-go still sends.
  @IsOptional()
  @IsIn(['auto', 'concise', 'detailed'])
  readonly generate_summary?: string | null;

  @IsOptional()
  @IsIn(['auto', 'current_turn', 'all_turns'])
  readonly context?: string | null;

  @IsOptional()
  @IsString()
  readonly mode?: string | null;
}

/** `stream_options` (protocol §2): `include_usage` of Chat Completions is not part of it. */
@Closed()
export class StreamOptions {
  @IsOptional()
  @IsBoolean()
  readonly include_obfuscation?: boolean | null;

  // Sent by Codex.
  @Allow()
  readonly reasoning_summary_delivery?: unknown;
}

/** `prompt_cache_options` (protocol §2). */
@Closed()
export class PromptCacheOptions {
  @IsOptional()
  @IsIn(['implicit', 'explicit'])
  readonly mode?: string | null;

  @IsOptional()
  @IsIn(['30m', '12h'])
  readonly ttl?: string | null;

  @IsOptional()
  @IsBoolean()
  readonly prewarm?: boolean | null;

  @IsOptional()
  @IsString()
  readonly comparison_response_id?: string | null;
}

/** `access_programs` (protocol §2). */
@Closed()
export class AccessPrograms {
  @IsOptional()
  @IsString()
  readonly cyber?: string | null;
}

/** `image` (protocol §2). */
@Closed()
export class ImageConfig {
  @IsOptional()
  @IsIn(['auto', 'enabled', 'disabled'])
  readonly context_compression?: string | null;
}
