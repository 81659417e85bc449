import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import { authenticate, Authenticator, type Grant, requireScope } from '../../access/index.js';
import type { Connection } from '../../connections/index.js';
import { ApiError } from '../../protocol/index.js';
import { isPromise, type MaybePromise } from '../../time/index.js';
import { SocketTurn } from './socket-turn.js';

/** Checks the credential of the upgrade again before every turn: it may have been revoked, reassigned or restricted. */
@Injectable()
export class TurnGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  /** Throws ApiError 401 or 403, like an upgrade. */
  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const turn: unknown = context.switchToWs().getData();
    return turn instanceof SocketTurn && this.check(turn.handler.connection);
  }

  /** True when the credential of a connection still belongs to its tenant. Throws ApiError 401 or 403. */
  check(connection: Connection): MaybePromise<boolean> {
    const grant = authenticate(this.authenticator, connection.headers);
    return isPromise(grant) ? grant.then((later) => renew(connection, later)) : renew(connection, grant);
  }
}

function renew(connection: Connection, grant: Grant): true {
  requireScope(grant, 'responses:write');
  if (grant.tenant !== connection.tenant) {
    throw ApiError.of('invalid_api_key', 'The API key of this connection now belongs to another tenant. Reconnect.');
  }
  connection.grant = grant;
  return true;
}
