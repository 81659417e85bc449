import { IsOptional, IsString, MaxLength, MinLength } from 'class-validator';

/** What every item may have: an id. It is all we check of item types that are only passed on (protocol §3.1). */
export class AnyItem {
  @IsOptional()
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  readonly id?: string | null;
}
