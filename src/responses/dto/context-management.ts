import { IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';

import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { listOf, nested } from '../../validation/index.js';
import { typeOfItem } from './input-item.js';

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

/** Refuses a `compaction_trigger` that is not the last item: what follows it would be lost or answered, and no one knows which. */
export function refuseMisplacedTrigger(input: CreateResponseRequest['input']): void {
  if (input == null || typeof input === 'string') return;
  const index = input.findIndex((item) => typeOfItem(item) === 'compaction_trigger');
  if (index === -1 || index === input.length - 1) return;
  const message = "Invalid value: an item of type 'compaction_trigger' must be the last item of 'input'.";
  throw ApiError.of('invalid_value', message, { param: `input[${index}]` });
}
