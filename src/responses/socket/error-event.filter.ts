import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Logger } from '@nestjs/common';
import { WsException } from '@nestjs/websockets';
import type { WebSocket } from 'ws';

import { connectionOf } from '../../connections/index.js';
import { logRefusal, toApiError } from '../../http/index.js';
import { ApiError, IdGenerator } from '../../protocol/index.js';
import { SocketTurn } from './socket-turn.js';

/** The message of Nest for a request that a guard refuses. */
const FORBIDDEN = 'Forbidden resource';

/**
 * Answers a refused turn or event with an error frame (protocol §6.3), and logs details that clients must not see.
 * Gateways of the program on the same path use it with `@UseFilters(ErrorEventFilter)`.
 */
@Catch()
@Injectable()
export class ErrorEventFilter implements ExceptionFilter {
  private readonly logger = new Logger('Socket');

  constructor(private readonly ids: IdGenerator) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const data: unknown = host.switchToWs().getData();
    const requestId = data instanceof SocketTurn ? data.requestId : this.ids.next('req');
    const error = thrown instanceof WsException ? fromWsException(thrown) : toApiError(thrown, requestId);
    if (error.status >= 500 && error !== thrown) this.logger.error(`request ${requestId} failed`, thrown);
    if (data instanceof SocketTurn) {
      data.fail(error);
      return;
    }
    const connection = connectionOf(host.switchToWs().getClient<WebSocket>());
    logRefusal(() => connection?.id ?? 'a socket', error, requestId);
    connection?.refuse(error, { requestId });
  }
}

/** Guards, pipes and interceptors of the embedding program word their own refusals. */
function fromWsException(thrown: WsException): ApiError {
  const status = thrown.message === FORBIDDEN ? 403 : 400;
  return new ApiError(status, 'invalid_request_error', null, null, thrown.message, {}, thrown);
}
