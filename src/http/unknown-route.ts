import { ApiError } from '../protocol/index.js';
import { pathOf } from './api-paths.js';
import type { ApiRoutes } from './api-routes.js';

/** How common clients are told to use the Responses API (docs/clients.md). */
const CLIENTS =
  'OpenAI SDK: client.responses.create(…). LangChain: useResponsesApi: true. AI SDK: openai.responses(…). ' +
  'Codex: wire_api = "responses".';

/** APIs of other servers that clients may be configured for, and what to do instead; `base` is where the API is. */
const OTHER_APIS: readonly (readonly [resource: RegExp, name: string, toAdvice: (base: string) => string])[] = [
  [/^completions$/, 'Completions', useResponses],
];

const METRICS = 'Metrics are at /metrics: here with METRICS=true, and on a port of their own with METRICS_PORT.';

/** Segments that clients put before a resource, or leave out, where a base URL is wrong. */
const BASES: readonly string[] = ['v1', 'openai', 'api'];

/** The error for a request that has no route: 405 where the path has other methods, else 404. */
export function unknownRoute(
  { method, url }: { readonly method: string; readonly url: string },
  routes: ApiRoutes,
): ApiError {
  const path = url.replace(/[?#].*$/, '').slice(0, 200);
  const methods = routes.allowedMethods(url);
  if (methods === undefined) {
    const hint = hintFor(pathOf(url), routes);
    return ApiError.of('unknown_url', `Invalid URL (${method} ${path}).${hint === undefined ? '' : ` ${hint}`}`);
  }
  const allowed = methods.join(', ');
  return ApiError.of('method_not_supported', `Not allowed to ${method} on ${path}. Allowed: ${allowed}.`, {
    headers: { allow: allowed },
  });
}

/** What a client may have meant by a path; undefined where that cannot be told. */
function hintFor(path: string, routes: ApiRoutes): string | undefined {
  const [base = '/v1/', ...others] = routes.responses.map((route) => route.slice(0, -'responses'.length));
  const ours = others.find((other) => path.startsWith(other)) ?? base;
  const known = new Set([...BASES, ...ours.split('/')]);
  const segments = path.split('/');
  const first = segments.findIndex((segment) => !known.has(segment));
  if (first === -1) return undefined;
  const resource = segments.slice(first).join('/');
  if (resource === 'metrics') return METRICS;
  const other = OTHER_APIS.find(([pattern]) => pattern.test(resource));
  if (other !== undefined) return `This server has no ${other[1]} API. ${other[2](ours)}`;
  return routes.knows(resource) ? `Use ${ours}${resource.slice(0, 200)}.` : undefined;
}

function useResponses(base: string): string {
  return `It speaks the Responses API: POST ${base}responses. ${CLIENTS}`;
}
