import { IsOptional, IsString, MaxLength, MinLength } from 'class-validator';

/** Members of every item. For types that are only passed on, nothing else is checked (protocol §3.1). */
export class AnyItem {
  @IsOptional()
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  readonly id?: string | null;
}

/** The states an item may be in when a client replays it (protocol §3.1). */
export const ITEM_STATUSES = ['in_progress', 'completed', 'incomplete'];
