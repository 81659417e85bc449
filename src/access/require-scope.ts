import { type ExecutionContext, SetMetadata } from '@nestjs/common';

import type { Scope } from './grant.js';

const SCOPE = 'antiphon:scope';

/** The scope that a route behind ApiKeyGuard needs, where its method does not tell. */
export function RequireScope(scope: Scope): MethodDecorator & ClassDecorator {
  return SetMetadata(SCOPE, scope);
}

/** The scope that a request needs: that of its route or, without one, that of its method. */
export function scopeOf(context: ExecutionContext, method: string): Scope {
  const ofHandler = Reflect.getMetadata(SCOPE, context.getHandler()) as Scope | undefined;
  const ofRoute = ofHandler ?? (Reflect.getMetadata(SCOPE, context.getClass()) as Scope | undefined);
  if (ofRoute !== undefined) return ofRoute;
  if (method === 'GET' || method === 'HEAD') return 'responses:read';
  return method === 'DELETE' ? 'responses:delete' : 'responses:write';
}
