import { IsOptional, IsString, MinLength } from 'class-validator';

import { ApiError } from '../protocol/index.js';
import { type CheckOptions, Closed, compile, isObject, kindOf, Satisfies } from '../validation/index.js';
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
  if (!isObject(body)) {
    const kind = body === null ? 'null' : kindOf(body);
    throw ApiError.of(
      'invalid_type',
      `Invalid type for the request body: expected an object, but got ${kind} instead.`,
    );
  }
  check(body, options);
  return body as unknown as ForkBody;
}
