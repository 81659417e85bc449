/** The prefixes of every API route (docs/decisions/2026-11-21-protocol-choices.md). */
export const API_PREFIXES = ['v1', 'openai/v1'] as const;

/** A resource's paths under every prefix, for a controller. */
export function apiPaths(resource: string): string[] {
  return API_PREFIXES.map((prefix) => `${prefix}/${resource}`);
}

/** Whether a URL or route pattern belongs to the API and so requires authentication. */
export function isApiPath(path: string): boolean {
  return API_PREFIXES.some((prefix) => path.startsWith(`/${prefix}/`));
}

const METHODS_BY_PATH: readonly (readonly [path: RegExp, methods: readonly string[]])[] = [
  [/^responses$/, ['GET', 'HEAD', 'POST']],
  [/^responses\/(?!(?:compact|input_tokens)$)[^/]+$/, ['GET', 'HEAD', 'DELETE']],
  [/^responses\/[^/]+\/(?:input_items|children|siblings|leaves|tree)$/, ['GET', 'HEAD']],
  [/^responses\/[^/]+\/cancel$/, ['POST']],
  [/^sessions\/[^/]+$/, ['DELETE']],
  [/^sessions\/[^/]+\/responses$/, ['GET', 'HEAD']],
  [/^sessions\/[^/]+\/fork$/, ['POST']],
  [/^connections$/, ['GET', 'HEAD']],
  [/^connections\/[^/]+$/, ['DELETE']],
  [/^models$/, ['GET', 'HEAD']],
  [/^models\/.+$/, ['GET', 'HEAD']],
];

/** The methods of an API path without its prefix and query; undefined when there is no such path. */
export function allowedMethods(url: string): readonly string[] | undefined {
  const prefix = API_PREFIXES.find((candidate) => url.startsWith(`/${candidate}/`));
  if (prefix === undefined) return undefined;
  const path = url.slice(prefix.length + 2).replace(/[?#].*$/, '');
  return METHODS_BY_PATH.find(([pattern]) => pattern.test(path))?.[1];
}
