import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { ConnectionsModule } from '../connections/index.js';
import { ContextModule } from '../context/index.js';
import { SessionsModule } from '../sessions/index.js';
import { StateModule } from '../state/index.js';
import { Admission, BoundedAdmission } from './admission.js';
import { ContextWindow } from './context-window.js';
import { CreateRequestPipe } from './http/create-request.pipe.js';
import { ResponsesController } from './http/responses.controller.js';
import { SseTransport } from './http/sse-transport.js';
import { ResponsesService } from './responses.service.js';
import { RunningTurns } from './running-turns.js';
import { QueueBudget } from './socket/queue-budget.js';
import { ResponsesGateway } from './socket/responses.gateway.js';
import { SocketHandshake } from './socket/socket-handshake.js';
import { SocketSessions } from './socket/socket-sessions.js';
import { StoredResponsesService } from './stored-responses.service.js';
import { TokenMeter } from './token-meter.js';
import { TurnFactory } from './turn-factory.js';
import { TurnFailures } from './turn-failures.js';
import { TurnKeeper } from './turn-keeper.js';
import { TurnLifecycle } from './turn-lifecycle.js';
import { TurnObservers } from './turn-observer.js';
import { TurnPreparation } from './turn-preparation.js';
import { TurnRunner } from './turn-runner.js';
import { UsageCounter } from './usage-counter.js';

/** The use case: one turn, whole. Transports sit on top of ResponsesService. */
@Module({
  imports: [DiscoveryModule, ConnectionsModule, ContextModule, SessionsModule, StateModule],
  controllers: [ResponsesController],
  providers: [
    SseTransport,
    ResponsesGateway,
    SocketHandshake,
    SocketSessions,
    QueueBudget,
    CreateRequestPipe,
    ResponsesService,
    StoredResponsesService,
    TurnFactory,
    TurnKeeper,
    TurnPreparation,
    ContextWindow,
    TokenMeter,
    TurnLifecycle,
    TurnRunner,
    TurnFailures,
    UsageCounter,
    RunningTurns,
    TurnObservers,
    { provide: Admission, useClass: BoundedAdmission },
  ],
  exports: [ResponsesService, StoredResponsesService, RunningTurns],
})
export class ResponsesModule {}
