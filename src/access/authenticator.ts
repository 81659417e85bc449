import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import { Environment, isLoopback, listenAddress } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { ApiKeys } from './api-keys.js';
import { asTenant, type Tenant } from './tenant.js';
import { refuseWebPages, type WebPageRules } from './web-page-guard.js';

/** The tenant of everything in a service without keys. */
const ANYBODY = asTenant('anybody');

/** Tells from a request's headers whose request it is. One for HTTP, for upgrades, and for each turn on a socket. */
export abstract class Authenticator {
  /** Throws ApiError 401 for a missing or wrong key, 403 for a web page at an open service. */
  abstract authenticate(headers: IncomingHttpHeaders): Tenant;
}

/** Knows callers by API_KEYS; without keys everybody on this machine is one and the same, and web pages are nobody. */
@Injectable()
export class EnvironmentAuthenticator extends Authenticator {
  private readonly keys: ApiKeys;
  private readonly webPages: WebPageRules;

  constructor(environment: Environment) {
    super();
    this.keys = new ApiKeys(environment.API_KEYS);
    this.webPages = {
      loopbackHostOnly: isLoopback(listenAddress(environment)),
      allowedOrigins: environment.CORS_ORIGINS,
    };
  }

  override authenticate(headers: IncomingHttpHeaders): Tenant {
    if (this.keys.size === 0) {
      refuseWebPages(headers, this.webPages);
      return ANYBODY;
    }
    const key = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
    if (key === undefined) throw unauthorized(null, 'Missing bearer authentication in header.');
    const tenant = this.keys.tenantOf(key);
    if (tenant === undefined) throw unauthorized('invalid_api_key', 'Incorrect API key provided.');
    return tenant;
  }
}

function unauthorized(code: string | null, message: string): ApiError {
  return new ApiError(401, 'invalid_request_error', code, null, message, { 'www-authenticate': 'Bearer' });
}
