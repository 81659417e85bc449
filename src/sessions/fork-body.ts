import { IsOptional, IsString, MinLength } from 'class-validator';

import { type CheckOptions, Closed, compile, requireObject, Satisfies } from '../validation/index.js';
import { sessionId } from './session-id.js';

/** The body of `POST /sessions/{id}/fork`. */
@Closed()
export class ForkBody {
  @Satisfies(sessionId)
  readonly target_session_id!: string;

  /** The last response that the new session shares; without it all of them. */
  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly up_to_response_id?: string | null;
}

const check = compile(ForkBody);

/** Checks a body and gives it back. Throws ApiError 400 for the first fault. */
export function validateForkBody(body: unknown, options: CheckOptions): ForkBody {
  const members = requireObject(body);
  check(members, options);
  return members as unknown as ForkBody;
}
