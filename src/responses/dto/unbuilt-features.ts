import { IsBoolean, IsOptional, IsString } from 'class-validator';

/** `moderation` (protocol §2). */
export class Moderation {
  @IsString()
  readonly model!: string;
}

/** `multi_agent` (protocol §2). */
export class MultiAgent {
  @IsOptional()
  @IsBoolean()
  readonly enabled?: boolean | null;
}
