import { IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';

import { listOf, nested } from '../../validation/index.js';

/** An element of `context_management` (protocol §2). */
export class ContextManagement {
  @IsString()
  @IsIn(['compaction'])
  readonly type!: string;

  @IsOptional()
  @IsInt()
  @Min(1000)
  readonly compact_threshold?: number | null;
}

/** `context_management` (protocol §2). */
export const contextManagement = listOf(nested(ContextManagement));
