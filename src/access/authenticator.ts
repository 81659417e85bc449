import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import { Environment, isLoopback, listenAddress } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import type { MaybePromise } from '../time/index.js';
import { ApiKeys } from './api-keys.js';
import { asTenant, type Tenant } from './tenant.js';
import { refuseWebPages, type WebPageRules } from './web-page-guard.js';

/** The tenant of everything in a service without keys. */
const ANYBODY = asTenant('anybody');

/**
 * Names the tenant of a request by its headers: for HTTP requests, for upgrades, and again for each turn or event on a socket,
 * with the headers of its upgrade.
 */
export abstract class Authenticator {
  /**
   * Gives the tenant, at once or later. Throws ApiError 401 for a missing or wrong credential, 403 for one that may not use the
   * service; anything else it throws is answered with 500. The request waits, so limit what it waits for.
   */
  abstract authenticate(headers: IncomingHttpHeaders): MaybePromise<Tenant>;
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
