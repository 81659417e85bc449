import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';

import { Authenticator } from '../../access/index.js';
import { ApiError } from '../../protocol/index.js';
import { SocketTurn } from './socket-turn.js';

/** Checks the credential of the upgrade again before every turn: it may have been revoked or changed hands meanwhile. */
@Injectable()
export class TurnGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  /** Throws ApiError 401 or 403, as the upgrade would now. */
  canActivate(context: ExecutionContext): boolean {
    const turn: unknown = context.switchToWs().getData();
    if (!(turn instanceof SocketTurn)) return false;
    const { connection } = turn.handler;
    if (this.authenticator.authenticate(connection.headers) === connection.tenant) return true;
    throw ApiError.of('invalid_api_key', 'The API key of this connection belongs to somebody else now. Reconnect.');
  }
}
