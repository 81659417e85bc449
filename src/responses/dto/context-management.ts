import { IsIn, IsInt, IsOptional, IsString, Min } from 'class-validator';

import { Closed, described, every, listOf, nested, tooManyElements } from '../../validation/index.js';

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

/** There is only one kind of entry, and two would leave open which threshold counts. */
const atMostOne = described(
  (value) => {
    const { length } = value as readonly unknown[];
    return length > 1 ? tooManyElements(1, length) : null;
  },
  { maxItems: 1 },
);

/** `context_management` (protocol §2): a list of at most one entry. */
export const contextManagement = every([listOf(nested(ContextManagement)), atMostOne]);
