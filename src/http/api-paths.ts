import type { IncomingMessage } from 'node:http';

import type { FastifyRequest } from 'fastify';

/** The prefix of every API route. */
export const API_PREFIX = 'v1';

/** The other prefix under which clients reach them (docs/decisions/2026-11-21-protocol-choices.md); ApiRoutes leads from there to the routes. */
export const API_ALIAS = 'openai/v1';

/** The path of a resource, for a controller. */
export function apiPath(resource: string): string {
  return `${API_PREFIX}/${resource}`;
}

/** The path of a URL as the router reads it: without the query, doubled slashes and a slash at the end. */
export function pathOf(url: string): string {
  // A proxy may send the whole URL.
  const path = url.startsWith('/') || !URL.canParse(url) ? url.replace(/[?#].*$/, '') : new URL(url).pathname;
  return path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
}

/** The URLs of requests as they were sent, where the router took another. */
const sentUrls = new WeakMap<IncomingMessage, string>();

/** Notes the URL of a request, before the router takes another. */
export function noteSentUrl(request: IncomingMessage, url: string): void {
  sentUrls.set(request, url);
}

/** The URL of a request as it was sent, for what is said of it. */
export function sentUrlOf({ raw, url }: Pick<FastifyRequest, 'raw' | 'url'>): string {
  return sentUrls.get(raw) ?? url;
}
