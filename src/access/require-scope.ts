import { type ExecutionContext, SetMetadata } from '@nestjs/common';

import type { Scope } from './grant.js';

const SCOPE = 'antiphon:scope';

/** The scope that a route behind ApiKeyGuard needs, where its method does not tell; `any`: any valid credential. */
export function RequireScope(scope: Scope | 'any'): MethodDecorator & ClassDecorator {
  return SetMetadata(SCOPE, scope);
}

/** What methods and classes declare; null for those that declare nothing. Read once: metadata are also searched in all prototypes. */
const declared = new WeakMap<object, Scope | 'any' | null>();

function declaredBy(target: object): Scope | 'any' | null {
  let scope = declared.get(target);
  if (scope === undefined) {
    scope = (Reflect.getMetadata(SCOPE, target) as Scope | 'any' | undefined) ?? null;
    declared.set(target, scope);
  }
  return scope;
}

/** The scope that a request needs: that of its route or, without one, that of its method. Null: none. */
export function scopeOf(context: ExecutionContext, method: string): Scope | null {
  const ofRoute = declaredBy(context.getHandler()) ?? declaredBy(context.getClass());
  if (ofRoute !== null) return ofRoute === 'any' ? null : ofRoute;
  if (method === 'GET' || method === 'HEAD') return 'responses:read';
  return method === 'DELETE' ? 'responses:delete' : 'responses:write';
}
