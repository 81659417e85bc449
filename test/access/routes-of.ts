import type { Service } from '../support/service.js';

/** The routes of a service under /v1, as `METHOD path`. */
export function routesOf({ app }: Service): readonly string[] {
  const printed = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false });
  const parents: string[] = [];
  return printed.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] = /^([│├└─ ]*)(\S+) \(([^)]+)\)$/.exec(line) ?? [];
    const depth = indent.length / 4;
    parents.splice(depth - 1, Infinity, part);
    const path = parents.join('');
    if (!path.startsWith('/v1/')) return [];
    return methods.split(', ').map((method) => `${method} ${path.slice('/v1/'.length)}`);
  });
}
