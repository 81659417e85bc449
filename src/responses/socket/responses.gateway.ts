import { UseFilters, UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';

import { Environment } from '../../config/index.js';
import { validateCreateEvent } from '../dto/index.js';
import { ResponsesService } from '../responses.service.js';
import { ErrorEventFilter } from './error-event.filter.js';
import { RESPONSES_PATH } from './socket-path.js';
import type { SocketTurn } from './socket-turn.js';
import { TurnGuard } from './turn.guard.js';

/** `GET /responses` with an upgrade: the same turns over WebSocket (protocol §6). Called when a turn heads its lane. */
@WebSocketGateway({ path: RESPONSES_PATH })
@UseGuards(TurnGuard)
@UseFilters(ErrorEventFilter)
export class ResponsesGateway {
  constructor(
    private readonly responses: ResponsesService,
    private readonly environment: Environment,
  ) {}

  @SubscribeMessage('response.create')
  create(@MessageBody() turn: SocketTurn): Promise<void> {
    return this.run(turn, turn.request());
  }

  /** Of clients of early 2026 (docs/decisions). */
  @SubscribeMessage('response.append')
  append(@MessageBody() turn: SocketTurn): Promise<void> {
    return this.run(turn, turn.appendedRequest());
  }

  private async run(turn: SocketTurn, body: Readonly<Record<string, unknown>>): Promise<void> {
    const unknownParameters = this.environment.UNKNOWN_PARAMETERS;
    const { request, generate } = validateCreateEvent(body, { unknownParameters });
    turn.keep(request);
    await turn.send(this.responses.execute(this.responses.admit(request, turn.caller, generate), turn.control));
  }
}
