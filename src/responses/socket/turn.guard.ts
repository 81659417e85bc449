import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import { authenticate, Authenticator, type Grant, permits, requireScope } from '../../access/index.js';
import type { Connection } from '../../connections/index.js';
import { ApiError } from '../../protocol/index.js';
import { andThen, Clock, type MaybePromise } from '../../time/index.js';
import { SocketTurn } from './socket-turn.js';

/** Checks the credential of the upgrade again before every turn: it may have been revoked, reassigned or restricted. */
@Injectable()
export class TurnGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly clock: Clock,
  ) {}

  /** Throws ApiError 401 or 403, like an upgrade. */
  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const turn: unknown = context.switchToWs().getData();
    return turn instanceof SocketTurn && this.check(turn.connection);
  }

  /** True when the credential of a connection still belongs to its tenant. Throws ApiError 401 or 403. */
  check(connection: Connection): MaybePromise<boolean> {
    const grant = connection.hasToken
      ? this.renew(connection.grant)
      : authenticate(this.authenticator, connection.headers);
    return andThen(grant, (later) => renew(connection, later));
  }

  /** A token is only for the upgrade; the grant behind it may end or be withdrawn. What the token left out stays so. */
  private renew(grant: Grant): MaybePromise<Grant> {
    if ((grant.expiresAt ?? Infinity) <= this.clock.now()) {
      throw ApiError.of(
        'invalid_api_key',
        'The credential behind the token of this connection has expired. Reconnect.',
      );
    }
    const scopes = grant.scopes ?? [];
    const limit = (now: Grant): Grant => ({ ...now, scopes: scopes.filter((scope) => permits(now, scope)) });
    const renewed = this.authenticator.renew?.(grant) ?? grant;
    return andThen(renewed, limit);
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
