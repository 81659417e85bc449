import type { IncomingHttpHeaders } from 'node:http';

import { isLoopback } from '../config/index.js';
import { ApiError } from '../protocol/index.js';

/** What a service without API keys accepts from browsers. */
export interface WebPageRules {
  /** Accepts only local names in `Host`: a public name that resolves to 127.0.0.1 indicates DNS rebinding. */
  readonly loopbackHostOnly: boolean;
  readonly allowedOrigins: readonly string[];
}

/**
 * Refuses web pages of other origins in a service without API keys: a browser sends `Origin` with every cross-origin
 * call, and its `Host` is the name the page was loaded from. Throws ApiError 403.
 */
export function refuseWebPages(headers: IncomingHttpHeaders, rules: WebPageRules): void {
  const host = headers.host ?? '';
  if (rules.loopbackHostOnly && !isLoopback(hostName(host))) {
    throw ApiError.of(
      'forbidden_host',
      'Without API keys this service accepts only local host names, such as localhost.',
    );
  }
  const { origin } = headers;
  if (origin === undefined || rules.allowedOrigins.includes(origin) || isSameOrigin(origin, host)) return;
  throw ApiError.of(
    'forbidden_origin',
    'Without API keys this service refuses requests from web pages of other origins.',
  );
}

/** The host of a `Host` header without its port or the brackets of IPv6. */
function hostName(host: string): string {
  return host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
}

function isSameOrigin(origin: string, host: string): boolean {
  return host !== '' && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
