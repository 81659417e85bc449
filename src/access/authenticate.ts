import type { IncomingHttpHeaders } from 'node:http';

import { HttpException } from '@nestjs/common';

import { ApiError } from '../protocol/index.js';
import { isPromise, type MaybePromise } from '../time/index.js';
import type { Authenticator } from './authenticator.js';
import type { Grant, Tenant } from './grant.js';

/**
 * Asks an authenticator whom the credential of a request belongs to, and what it permits. Throws ApiError and HttpException as they are; whatever else it throws is an
 * internal error, whose status and message must not reach clients. So is an answer without a tenant: nobody is served then.
 */
export function authenticate(authenticator: Authenticator, headers: IncomingHttpHeaders): MaybePromise<Grant> {
  let known: MaybePromise<Tenant | Grant>;
  try {
    known = authenticator.authenticate(headers);
  } catch (error) {
    return refuse(error);
  }
  return isPromise(known) ? Promise.resolve(known).then(toGrant, refuse) : toGrant(known);
}

/** The answer of an authenticator, which a program in JavaScript may have got wrong, as by a look-up of a key that nobody has. */
function toGrant(known: Tenant | Grant | null | undefined): Grant {
  const grant = typeof known === 'string' ? { tenant: known } : known;
  if (typeof grant?.tenant === 'string' && grant.tenant !== '') return grant;
  const needed = 'to refuse a credential it has to throw an ApiError';
  throw new Error(`the authenticator returned neither a tenant nor a grant with one; ${needed}`);
}

function refuse(error: unknown): never {
  if (error instanceof ApiError || error instanceof HttpException) throw error;
  throw new Error('the authenticator failed', { cause: error });
}
