import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { isPromise, type MaybePromise } from '../time/index.js';
import { authenticate } from './authenticate.js';
import { Authenticator } from './authenticator.js';
import type { Caller, Tenant } from './tenant.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; set before the body is read. */
    caller?: Caller;
  }
}

/** Accepts authenticated requests. Throws the errors of Authenticator. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const identified = this.identify(context.switchToHttp().getRequest<FastifyRequest>());
    return identified === undefined ? true : identified.then(() => true);
  }

  /**
   * Authenticates the request once. Also called before the body is read, so that unauthenticated clients cannot send
   * large bodies. Undefined when the authenticator answered synchronously.
   */
  identify(request: FastifyRequest): Promise<void> | undefined {
    if (request.caller !== undefined) return undefined;
    const name = (tenant: Tenant): void => void (request.caller = { tenant, requestId: request.id });
    const tenant = authenticate(this.authenticator, request.headers);
    if (isPromise(tenant)) return tenant.then(name);
    name(tenant);
    return undefined;
  }
}

/** The caller of a guarded request, as a parameter of a controller method. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === undefined) throw new Error('this route is not guarded by ApiKeyGuard');
  return caller;
});
