import { IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';

import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { type Check, Closed, every, listOf, nested, tooManyElements } from '../../validation/index.js';
import { typeOfItem } from './input-item.js';

/** An element of `context_management` (protocol §2). */
@Closed()
export class ContextManagement {
  @IsString()
  @IsIn(['compaction'])
  readonly type!: string;

  @IsOptional()
  @IsInt()
  @Min(1000)
  readonly compact_threshold?: number | null;
}

/** There is only one kind of entry: of two, nobody knows which threshold counts. */
const atMostOne: Check = (value) => {
  const { length } = value as readonly unknown[];
  return length > 1 ? tooManyElements(1, length) : null;
};

/** `context_management` (protocol §2): a list of at most one entry. */
export const contextManagement = every([listOf(nested(ContextManagement)), atMostOne]);

/** Refuses a `compaction_trigger` that is not the last item: what follows it would be lost or answered, and no one knows which. */
export function refuseMisplacedTrigger(input: CreateResponseRequest['input']): void {
  if (input == null || typeof input === 'string') return;
  const index = input.findIndex((item) => typeOfItem(item) === 'compaction_trigger');
  if (index === -1 || index === input.length - 1) return;
  const message = "Invalid value: an item of type 'compaction_trigger' must be the last item of 'input'.";
  throw ApiError.of('invalid_value', message, { param: `input[${index}]` });
}
