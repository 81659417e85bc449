import { IsBoolean, IsInt, IsOptional, IsString, Min } from 'class-validator';
import { listOf, nested } from '../../validation/index.js';

/** `moderation` (protocol §2). */
export class Moderation {
  @IsString()
  readonly model!: string;
}

/** An element of `context_management` (protocol §2). */
export class ContextManagement {
  @IsString()
  readonly type!: string;

  @IsOptional()
  @IsInt()
  @Min(1000)
  readonly compact_threshold?: number | null;
}

/** `prompt` (protocol §2). */
export class NamedById {
  @IsString()
  readonly id!: string;
}

/** `multi_agent` (protocol §2). */
export class MultiAgent {
  @IsOptional()
  @IsBoolean()
  readonly enabled?: boolean | null;
}

/** `context_management` (protocol §2). */
export const contextManagement = listOf(nested(ContextManagement));
