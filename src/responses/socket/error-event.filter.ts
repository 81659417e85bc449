import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { WsException } from '@nestjs/websockets';

import { toApiError } from '../../http/index.js';
import { ApiError } from '../../protocol/index.js';
import { SocketTurn } from './socket-turn.js';

/** What Nest throws when a guard says no. */
const FORBIDDEN = 'Forbidden resource';

/** Answers a turn that was refused with an error frame (protocol §6.3), and logs what was not meant for clients. */
@Catch()
export class ErrorEventFilter implements ExceptionFilter {
  private readonly logger = new Logger('Socket');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const turn: unknown = host.switchToWs().getData();
    if (!(turn instanceof SocketTurn)) return;
    const { requestId } = turn.caller;
    const error = thrown instanceof WsException ? fromWsException(thrown) : toApiError(thrown, requestId);
    if (error.status >= 500 && error !== thrown) this.logger.error(`turn of request ${requestId} failed`, thrown);
    turn.fail(error);
  }
}

/** A guard, pipe or interceptor of the embedding program refuses in its own words. */
function fromWsException(thrown: WsException): ApiError {
  const status = thrown.message === FORBIDDEN ? 403 : 400;
  return new ApiError(status, 'invalid_request_error', null, null, thrown.message, {}, thrown);
}
