import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import { Environment, hasCredentials, isLoopback, listenAddress } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import type { MaybePromise } from '../time/index.js';
import { ApiKeys } from './api-keys.js';
import { asTenant, type Grant, JWT_KEY_ID, SCOPES, type Tenant } from './grant.js';
import { JwtVerifier } from './jwt-verifier.js';

/** Whoever reaches a service without keys: the single tenant, and the operator. */
const ANYBODY: Grant = { tenant: asTenant('anybody'), scopes: SCOPES };

/**
 * Tells from the headers of a request whom its credential belongs to, and what it permits. Called for HTTP requests, for upgrades, and for each turn or event on a
 * socket with the headers of its upgrade.
 */
export abstract class Authenticator {
  /**
   * Returns a grant, or only the tenant, which then may do everything but `admin`; synchronously or as a promise. Throws ApiError 401 for a missing or wrong credential and 403
   * for one without access; any other error becomes a 500. The request waits for the result, so set a time limit.
   */
  abstract authenticate(headers: IncomingHttpHeaders): MaybePromise<Tenant | Grant>;

  /**
   * What a grant permits now; called before the turns of sockets that a web page has opened with a token, which have no credential of their
   * own. Throws ApiError 401 when it was withdrawn. Without this method it stays until it expires.
   */
  renew?(grant: Grant): MaybePromise<Grant>;
}

/**
 * Authenticates by API_KEYS, KEYS_FILE and JWT_ISSUER. Without keys, all local clients share one tenant and web pages of other origins are
 * refused.
 */
@Injectable()
export class EnvironmentAuthenticator extends Authenticator {
  private readonly isOpen: boolean;
  private readonly webPages: WebPageRules;

  constructor(
    environment: Environment,
    private readonly keys: ApiKeys,
    private readonly tokens: JwtVerifier,
  ) {
    super();
    this.isOpen = !hasCredentials(environment);
    this.webPages = {
      loopbackHostOnly: isLoopback(listenAddress(environment)),
      allowedOrigins: environment.CORS_ORIGINS,
    };
  }

  override authenticate(headers: IncomingHttpHeaders): MaybePromise<Grant> {
    if (this.isOpen) {
      refuseWebPages(headers, this.webPages);
      return ANYBODY;
    }
    const authorization = bearerOf(headers);
    const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (key === undefined) throw unauthorized(null, describeMissing(authorization));
    if (this.tokens.takes(key)) return this.tokens.verify(key);
    const grant = this.keys.grantOf(key);
    if (grant === undefined) throw unauthorized('invalid_api_key', 'Incorrect API key provided.');
    return grant;
  }

  override renew(grant: Grant): Grant {
    const { keyId } = grant;
    if (this.isOpen || keyId === undefined || keyId.startsWith(JWT_KEY_ID)) return grant;
    const now = this.keys.grantOfId(keyId);
    if (now === undefined) throw unauthorized('invalid_api_key', 'The API key behind this token is no longer valid.');
    return now;
  }
}

/** The credential of a request as a bearer; empty without one. Clients of Anthropic send theirs as `x-api-key`. */
export function bearerOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders): string {
  return authorization ?? (typeof key === 'string' && key !== '' ? `Bearer ${key}` : '');
}

/** Never quotes the header: it may be a key. */
function describeMissing(authorization: string): string {
  const message = 'Missing bearer authentication in header.';
  if (/^(?:Bearer\b.*)?$/is.test(authorization)) return message;
  return `${message} The header 'authorization' must be 'Bearer', a space and the key, but does not begin with 'Bearer'.`;
}

function unauthorized(code: string | null, message: string): ApiError {
  return new ApiError(401, 'invalid_request_error', code, null, message, { 'www-authenticate': 'Bearer' });
}

/** What a service without API keys accepts from browsers. */
interface WebPageRules {
  /** Accepts only local names in `Host`: a public name that resolves to 127.0.0.1 indicates DNS rebinding. */
  readonly loopbackHostOnly: boolean;
  readonly allowedOrigins: readonly string[];
}

/**
 * Refuses web pages of other origins in a service without API keys: a browser sends `Origin` with every cross-origin
 * call, and its `Host` is the name the page was loaded from. Throws ApiError 403.
 */
function refuseWebPages(headers: IncomingHttpHeaders, rules: WebPageRules): void {
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
