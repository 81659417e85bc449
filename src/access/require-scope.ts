import { type ExecutionContext, SetMetadata } from '@nestjs/common';

import type { Scope } from './grant.js';

const SCOPE = 'antiphon:scope';

/** The scope that a route behind ApiKeyGuard needs, where its method does not tell; `any`: any valid credential. */
export function RequireScope(scope: Scope | 'any'): MethodDecorator & ClassDecorator {
  return SetMetadata(SCOPE, scope);
}

/** The scope that a request needs: that of its route or, without one, that of its method. Null: none. */
export function scopeOf(context: ExecutionContext, method: string): Scope | null {
  const declared = [context.getHandler(), context.getClass()].map(
    (target) => Reflect.getMetadata(SCOPE, target) as unknown,
  );
  const ofRoute = declared.find((scope) => scope !== undefined) as Scope | 'any' | undefined;
  if (ofRoute !== undefined) return ofRoute === 'any' ? null : ofRoute;
  if (method === 'GET' || method === 'HEAD') return 'responses:read';
  return method === 'DELETE' ? 'responses:delete' : 'responses:write';
}
