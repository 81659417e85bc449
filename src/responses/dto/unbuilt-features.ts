import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { nested, stringOr } from '../../validation/index.js';

/** `moderation` (protocol §2). */
export class Moderation {
  @IsString()
  readonly model!: string;
}

/** A `conversation` or a `prompt` given as an object (protocol §2). */
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

/** `conversation`: its id, or an object with the id (protocol §2). */
export const conversation = stringOr({
  kind: 'object',
  check: nested(NamedById),
  expected: 'one of a string or object',
});
