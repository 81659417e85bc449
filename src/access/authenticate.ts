import type { IncomingHttpHeaders } from 'node:http';

import { HttpException } from '@nestjs/common';

import { ApiError } from '../protocol/index.js';
import { isPromise, type MaybePromise } from '../time/index.js';
import type { Authenticator } from './authenticator.js';
import type { Grant, Tenant } from './grant.js';

/**
 * Asks an authenticator whom the credential of a request belongs to, and what it permits. Throws ApiError and HttpException as they are; whatever else it throws is an
 * internal error, whose status and message must not reach clients.
 */
export function authenticate(authenticator: Authenticator, headers: IncomingHttpHeaders): MaybePromise<Grant> {
  try {
    const known = authenticator.authenticate(headers);
    return isPromise(known) ? Promise.resolve(known).then(toGrant, refuse) : toGrant(known);
  } catch (error) {
    return refuse(error);
  }
}

function toGrant(known: Tenant | Grant): Grant {
  return typeof known === 'string' ? { tenant: known } : known;
}

function refuse(error: unknown): never {
  if (error instanceof ApiError || error instanceof HttpException) throw error;
  throw new Error('the authenticator failed', { cause: error });
}
