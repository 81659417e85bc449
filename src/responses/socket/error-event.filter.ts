import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';

import { toApiError } from '../../http/index.js';
import type { SocketTurn } from './socket-turn.js';

/** Answers a turn that was refused with an error frame (protocol §6.3), and logs what was not meant for clients. */
@Catch()
export class ErrorEventFilter implements ExceptionFilter {
  private readonly logger = new Logger('Socket');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const turn = host.switchToWs().getData<SocketTurn>();
    const { requestId } = turn.caller;
    const error = toApiError(thrown, { id: requestId, method: 'GET', url: '' });
    if (error.status >= 500 && error !== thrown) this.logger.error(`turn of request ${requestId} failed`, thrown);
    turn.fail(error);
  }
}
