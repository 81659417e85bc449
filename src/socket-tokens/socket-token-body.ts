import { IsInt, IsOptional, IsString, Min } from 'class-validator';

import { ApiError } from '../protocol/index.js';
import { type CheckOptions, Closed, compile, requireObject } from '../validation/index.js';

/** The body of `POST /socket_tokens`. */
@Closed()
export class SocketTokenBody {
  /** The origin of the page that will connect, such as `https://app.example.com`. */
  @IsString()
  readonly origin!: string;

  /** Seconds; by default SOCKET_TOKEN_TTL. */
  @IsOptional()
  @IsInt()
  @Min(1)
  readonly expires_in?: number | null;
}

const check = compile(SocketTokenBody);

/** Checks a body and returns it. Throws ApiError 400 for the first violation; `longest` is that of `expires_in`, s. */
export function validateSocketToken(body: unknown, longest: number, options: CheckOptions): SocketTokenBody {
  const members = requireObject(body);
  check(members, options);
  const request = members as unknown as SocketTokenBody;
  const { origin, expires_in: seconds } = request;
  if (URL.parse(origin)?.origin !== origin) {
    const message = "Invalid value: 'origin' must be the origin of a web page, such as 'https://app.example.com'.";
    throw ApiError.of('invalid_value', message, { param: 'origin' });
  }
  if ((seconds ?? 0) > longest) {
    const message = `Invalid 'expires_in': integer above maximum value. Expected a value <= ${longest}, but got ${seconds} instead.`;
    throw ApiError.of('integer_above_max_value', message, { param: 'expires_in' });
  }
  return request;
}
