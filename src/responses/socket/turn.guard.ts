import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import { Authenticator, type Tenant } from '../../access/index.js';
import type { Connection } from '../../connections/index.js';
import { ApiError } from '../../protocol/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import { SocketTurn } from './socket-turn.js';

/** Checks the credential of the upgrade again before every turn: it may have been revoked or changed hands meanwhile. */
@Injectable()
export class TurnGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  /** Throws ApiError 401 or 403, as the upgrade would now. */
  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const turn: unknown = context.switchToWs().getData();
    return turn instanceof SocketTurn && this.check(turn.handler.connection);
  }

  /** True when the credential of a connection still names its tenant. Throws ApiError 401 or 403. */
  check({ headers, tenant }: Connection): MaybePromise<boolean> {
    const named = this.authenticator.authenticate(headers);
    return isPromise(named) ? named.then((later) => requireSame(later, tenant)) : requireSame(named, tenant);
  }
}

function requireSame(named: Tenant, tenant: Tenant): true {
  if (named === tenant) return true;
  throw ApiError.of('invalid_api_key', 'The API key of this connection belongs to another tenant now. Reconnect.');
}
