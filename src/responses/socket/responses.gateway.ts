import { UseFilters, UseGuards } from '@nestjs/common';
import { MessageBody, type OnGatewayInit, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';

import { Environment } from '../../config/index.js';
import { isPromise } from '../../time/index.js';
import { RequestValidator } from '../dto/index.js';
import { ResponsesService } from '../responses.service.js';
import { withEventNames } from '../turn/event-sink.js';
import { TurnObservers } from '../turn/turn-observer.js';
import { ErrorEventFilter } from './error-event.filter.js';
import { RESPONSES_PATH, SocketHandshake } from './socket-handshake.js';
import type { SocketTurn } from './socket-turn.js';
import { TurnGuard } from './turn.guard.js';

/** `GET /responses` with an upgrade: turns over WebSocket (protocol §6). Called when a turn is first in its lane. */
@WebSocketGateway({ path: RESPONSES_PATH })
@UseGuards(TurnGuard)
@UseFilters(ErrorEventFilter)
export class ResponsesGateway implements OnGatewayInit {
  constructor(
    private readonly responses: ResponsesService,
    private readonly validator: RequestValidator,
    private readonly observers: TurnObservers,
    private readonly environment: Environment,
    private readonly handshake: SocketHandshake,
  ) {}

  /** Throws unless the application uses SocketAdapter: other adapters do not authenticate clients. */
  afterInit(server: unknown): void {
    if (!this.handshake.isOurs(server)) {
      throw new Error('Antiphon needs its own WebSocket adapter: extend SocketAdapter, or leave it to configureApp().');
    }
  }

  @SubscribeMessage('response.create')
  create(@MessageBody() turn: SocketTurn): Promise<void> {
    return this.run(turn);
  }

  /** For clients of early 2026 (docs/decisions/2026-11-21-protocol-choices.md). */
  @SubscribeMessage('response.append')
  append(@MessageBody() turn: SocketTurn): Promise<void> {
    return this.run(turn);
  }

  private run(turn: SocketTurn): Promise<void> {
    const request = turn.request();
    return isPromise(request) ? request.then((read) => this.runRequest(turn, read)) : this.runRequest(turn, request);
  }

  private runRequest(turn: SocketTurn, body: Readonly<Record<string, unknown>>): Promise<void> {
    const { caller } = turn;
    const { headers } = turn.connection;
    const admitted = this.observers.asked(
      () => ({ caller, door: 'responses', transport: 'websocket', request: body, headers }),
      () => {
        const { request, generate, sessionId } = this.validator.checkEvent(body, caller);
        turn.rememberRequest();
        const { WS_SESSION_LOCK: locksSession } = this.environment;
        return this.responses.admit(request, caller, { generate, headers, sessionId, locksSession });
      },
    );
    const active = turn.activate(admitted);
    const sink = withEventNames(turn, this.environment.EVENT_NAMES);
    return turn.send(() => this.responses.execute(active, sink));
  }
}
