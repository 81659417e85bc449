import type { FastifyReply } from 'fastify';

/** Whether a client wants a page, as browsers do, where a path has one beside its JSON. Caches are told that the answer depends on it. */
export function wantsPage(accept: string | undefined, reply: FastifyReply): boolean {
  // CORS has named `origin` already.
  void reply.header('vary', [reply.getHeader('vary'), 'accept'].filter(Boolean).join(', '));
  return accept?.includes('text/html') === true;
}

/** What the tab of a page shows. The policy of the page needs `img-src data:`. */
export const FAVICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='3' fill='%23204060'/%3E%3Cpath d='M3.5 13 8 3l4.5 10M5.3 9.5h5.4' fill='none' stroke='white' stroke-width='1.6'/%3E%3C/svg%3E";

/** Makes an answer a page. `policy` are the directives of its Content-Security-Policy beside `default-src 'none'`. */
export function answerAsPage(reply: FastifyReply, ...policy: readonly string[]): void {
  void reply.type('text/html; charset=utf-8');
  void reply.header('content-security-policy', ["default-src 'none'", ...policy].join('; '));
}

/** Makes an answer a page that consists of files of this origin and asks nothing else. `policy` are further directives. */
export function answerAsApplication(reply: FastifyReply, ...policy: readonly string[]): void {
  answerAsPage(reply, ...OF_THIS_ORIGIN, ...policy);
  void reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' });
}

const OF_THIS_ORIGIN = [
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** A text as it stands between tags. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A text as it stands in an attribute, with its quotes. */
export function quoteHtml(text: string): string {
  return `"${escapeHtml(text).replaceAll('"', '&quot;')}"`;
}
