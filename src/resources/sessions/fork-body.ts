import { IsOptional, IsString, MinLength } from 'class-validator';

import { type CheckOptions, Closed, compile, requireObject, Satisfies } from '../../validation/index.js';
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

const check = compile(ForkBody);

/** Checks a body and returns it. Throws ApiError 400 for the first violation. */
export function validateForkBody(body: unknown, options: CheckOptions): ForkBody {
  const members = requireObject(body);
  check(members, options);
  return members as unknown as ForkBody;
}
