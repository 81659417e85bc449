import { type CanActivate, createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { isPromise, type MaybePromise } from '../time/index.js';
import { Credentials } from './credentials.js';
import { type Caller, type Grant, requireScope } from './grant.js';
import { scopeOf } from './require-scope.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; set before the body is read. */
    caller?: Caller;
  }
}

/** Accepts authenticated requests whose credential permits what they ask for. Throws the errors of Authenticator, and 403 `missing_scope`. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(private readonly credentials: Credentials) {}

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const permit = (): true => {
      const scope = scopeOf(context, request.method);
      if (scope !== null && request.caller !== undefined) requireScope(request.caller, scope);
      return true;
    };
    const identified = this.identify(request);
    return identified === undefined ? permit() : identified.then(permit);
  }

  /**
   * Authenticates the request once. Also called before the body is read, so that unauthenticated clients cannot send
   * large bodies. Undefined when the authenticator answered synchronously.
   */
  identify(request: FastifyRequest): Promise<void> | undefined {
    if (request.caller !== undefined) return undefined;
    const name = (grant: Grant): void => void (request.caller = { ...grant, requestId: request.id });
    const grant = this.credentials.check(request.raw);
    if (isPromise(grant)) return grant.then(name);
    name(grant);
    return undefined;
  }
}

/** The caller of a guarded request, as a parameter of a controller method. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (caller === undefined) throw new Error('this route is not guarded by ApiKeyGuard');
  return caller;
});
