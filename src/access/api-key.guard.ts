import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { Authenticator } from './authenticator.js';
import type { Caller } from './tenant.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling; set before the body is read. */
    caller?: Caller;
  }
}

/** Lets a request through when its caller is known. Throws what Authenticator throws. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  canActivate(context: ExecutionContext): boolean {
    this.identify(context.switchToHttp().getRequest<FastifyRequest>());
    return true;
  }

  /** Names the caller once per request; called early as well, so that strangers cannot make us read large bodies. */
  identify(request: FastifyRequest): void {
    request.caller ??= { tenant: this.authenticator.authenticate(request.headers), requestId: request.id };
  }
}

/** The caller of a guarded request, as a parameter of a controller's method. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === undefined) throw new Error('this route is not guarded by ApiKeyGuard');
  return caller;
});
