import { ApiError } from '../protocol/index.js';
import { pathOf } from './api-paths.js';
import type { ApiRoutes } from './api-routes.js';

/** Older APIs that clients may be configured for, by their path. */
const OLDER_APIS: ReadonlyMap<string | undefined, string> = new Map([
  ['chat/completions', 'Chat Completions'],
  ['completions', 'Completions'],
]);

/** How common clients are told to use the Responses API (docs/clients.md). */
const CLIENTS =
  'OpenAI SDK: client.responses.create(…). LangChain: useResponsesApi: true. AI SDK: openai.responses(…). ' +
  'Codex: wire_api = "responses".';

/** The error for a request that has no route: 405 where the path has other methods, else 404. */
export function unknownRoute(
  { method, url }: { readonly method: string; readonly url: string },
  routes: ApiRoutes,
): ApiError {
  const path = url.replace(/[?#].*$/, '').slice(0, 200);
  const methods = routes.allowedMethods(url);
  if (methods === undefined) {
    const api = OLDER_APIS.get(routes.resourceOf(pathOf(url)));
    const invalid = `Invalid URL (${method} ${path}).`;
    if (api === undefined) return ApiError.of('unknown_url', invalid);
    const here = pathOf(url).replace(/(?:chat\/)?completions$/, 'responses');
    return ApiError.of(
      'unknown_url',
      `${invalid} This server has no ${api} API. It speaks the Responses API: POST ${here}. ${CLIENTS}`,
    );
  }
  const allowed = methods.join(', ');
  return ApiError.of('method_not_supported', `Not allowed to ${method} on ${path}. Allowed: ${allowed}.`, {
    headers: { allow: allowed },
  });
}
