import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { ApiKeyGuard } from '../access/index.js';
import { Environment } from '../config/index.js';
import { sentUrlOf } from '../http/index.js';
import { ApiError, isErrorCode, type ResponseErrorBody } from '../protocol/index.js';

const DOOR = 'antiphon:door';

type DoorName = Environment['DOORS'][number];

/** Answers 404 on the routes of a door that DOORS leaves out. */
@Injectable()
class DoorSwitch implements CanActivate {
  constructor(private readonly environment: Environment) {}

  canActivate(context: ExecutionContext): boolean {
    const door = Reflect.getMetadata(DOOR, context.getClass()) as DoorName;
    if (this.environment.DOORS.includes(door)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const path = sentUrlOf(request)
      .replace(/[?#].*$/, '')
      .slice(0, 200);
    throw ApiError.of(
      'unknown_url',
      `Invalid URL (${request.method} ${path}). DOORS of this server leaves out '${door}'.`,
    );
  }
}

/** A controller of a door, for authenticated callers. */
export function BehindDoor(name: DoorName): ClassDecorator {
  return applyDecorators(SetMetadata(DOOR, name), UseGuards(DoorSwitch, ApiKeyGuard));
}

/** The error of a response that has failed, as its client would have been refused. */
export function toApiError({ code, message, headers: given }: ResponseErrorBody): ApiError {
  const headers = given ?? {};
  if (isErrorCode(code)) return ApiError.of(code, message, { headers });
  return new ApiError(500, 'server_error', code, null, message, headers);
}
