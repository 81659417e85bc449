import type { IncomingHttpHeaders } from 'node:http';

import { HttpException } from '@nestjs/common';

import { ApiError } from '../protocol/index.js';
import { isPromise, type MaybePromise } from '../time/index.js';
import type { Authenticator } from './authenticator.js';
import type { Tenant } from './tenant.js';

/**
 * Asks an authenticator for the tenant of a request. Throws ApiError and HttpException as they are; whatever else it throws is an
 * internal error, whose status and message must not reach clients.
 */
export function authenticate(authenticator: Authenticator, headers: IncomingHttpHeaders): MaybePromise<Tenant> {
  try {
    const tenant = authenticator.authenticate(headers);
    return isPromise(tenant) ? Promise.resolve(tenant).catch(refuse) : tenant;
  } catch (error) {
    return refuse(error);
  }
}

function refuse(error: unknown): never {
  if (error instanceof ApiError || error instanceof HttpException) throw error;
  throw new Error('the authenticator failed', { cause: error });
}
