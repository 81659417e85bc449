/** The prefixes of every API route (docs/decisions/2026-11-21-protocol-choices.md). */
export const API_PREFIXES = ['v1', 'openai/v1'] as const;

/** A resource's paths under every prefix, for a controller. */
export function apiPaths(resource: string): string[] {
  return API_PREFIXES.map((prefix) => `${prefix}/${resource}`);
}

/** The path of a URL as the router reads it: without the query, doubled slashes and a slash at the end. */
export function pathOf(url: string): string {
  // A proxy may send the whole URL.
  const path = url.startsWith('/') || !URL.canParse(url) ? url.replace(/[?#].*$/, '') : new URL(url).pathname;
  return path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
}
