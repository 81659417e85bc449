import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import { authenticate, Authenticator, type Tenant } from '../../access/index.js';
import type { Connection } from '../../connections/index.js';
import { ApiError } from '../../protocol/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import { SocketTurn } from './socket-turn.js';

/** Checks the credential of the upgrade again before every turn: it may have been revoked or reassigned. */
@Injectable()
export class TurnGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  /** Throws ApiError 401 or 403, like an upgrade. */
  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const turn: unknown = context.switchToWs().getData();
    return turn instanceof SocketTurn && this.check(turn.handler.connection);
  }

  /** True when the credential of a connection still belongs to its tenant. Throws ApiError 401 or 403. */
  check({ headers, tenant }: Connection): MaybePromise<boolean> {
    const named = authenticate(this.authenticator, headers);
    return isPromise(named) ? named.then((later) => requireSame(later, tenant)) : requireSame(named, tenant);
  }
}

function requireSame(named: Tenant, tenant: Tenant): true {
  if (named === tenant) return true;
  throw ApiError.of('invalid_api_key', 'The API key of this connection now belongs to another tenant. Reconnect.');
}
