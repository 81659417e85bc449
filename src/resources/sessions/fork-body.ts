import { IsOptional, IsString, MinLength } from 'class-validator';

import { Closed, Satisfies, validatorOf } from '../../validation/index.js';
import { sessionId } from './session-id.js';

/** The body of `POST /sessions/{id}/fork`. */
@Closed()
export class ForkBody {
  @Satisfies(sessionId)
  readonly target_session_id!: string;

  /** The last response to share; all by default. */
  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly up_to_response_id?: string | null;
}

export const validateForkBody = validatorOf(ForkBody);
