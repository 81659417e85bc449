import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { BodiesModule } from '../bodies/index.js';
import { ConnectionsModule } from '../connections/index.js';
import { ContextModule } from '../context/index.js';
import { HttpModule } from '../http/index.js';
import { SealsModule } from '../seals/index.js';
import { SessionsModule } from '../sessions/index.js';
import { SocketTokensModule } from '../socket-tokens/index.js';
import { StateModule } from '../state/index.js';
import { WebhooksModule } from '../webhooks/index.js';
import { BackgroundEndings, BackgroundResponses, BackgroundWorker, EventStreams } from './background/index.js';
import { CompactionPlanner, CompactionPolicy, Compactor, Summarizer } from './compaction/index.js';
import { RequestValidator } from './dto/index.js';
import { CompactController } from './http/compact.controller.js';
import { InputTokensController } from './http/input-tokens.controller.js';
import { PostOnlyController } from './http/post-only.controller.js';
import { PromptsController } from './http/prompts.controller.js';
import { HalfClosedClients } from './http/half-closed-clients.js';
import { ResponsesController } from './http/responses.controller.js';
import { SseTransport } from './http/sse-transport.js';
import { StalledClients } from './http/stalled-clients.js';
import { Prompts } from './prompts/index.js';
import { ResponsesService } from './responses.service.js';
import { QueueBudget } from './socket/queue-budget.js';
import { ResponsesGateway } from './socket/responses.gateway.js';
import { SocketHandshake } from './socket/socket-handshake.js';
import { ConnectionHandlers } from './socket/connection-handlers.js';
import { TurnGuard } from './socket/turn.guard.js';
import { StoredResponsesService } from './stored-responses.service.js';
import {
  Assemblers,
  ContextWindow,
  CountedReasoning,
  Entrance,
  InputTokens,
  Passes,
  PassPolicies,
  Questions,
  RunningTurns,
  TokenMeter,
  TokenScale,
  TurnAdmitter,
  TurnFailures,
  TurnObservers,
  TurnResolver,
  TurnRunner,
  TurnSaver,
  UsageRecords,
} from './turn/index.js';

/** Turns from request to response, and their transports. */
@Module({
  imports: [
    DiscoveryModule,
    BodiesModule,
    ConnectionsModule,
    ContextModule,
    HttpModule,
    SealsModule,
    SessionsModule,
    SocketTokensModule,
    StateModule,
    WebhooksModule,
  ],
  controllers: [CompactController, InputTokensController, PostOnlyController, PromptsController, ResponsesController],
  providers: [
    SseTransport,
    StalledClients,
    HalfClosedClients,
    ResponsesGateway,
    SocketHandshake,
    ConnectionHandlers,
    QueueBudget,
    TurnGuard,
    RequestValidator,
    Prompts,
    ResponsesService,
    StoredResponsesService,
    BackgroundResponses,
    BackgroundWorker,
    BackgroundEndings,
    EventStreams,
    TurnAdmitter,
    TurnRunner,
    Entrance,
    TurnResolver,
    ContextWindow,
    CountedReasoning,
    Questions,
    Assemblers,
    Passes,
    PassPolicies,
    TokenMeter,
    TokenScale,
    InputTokens,
    CompactionPlanner,
    Summarizer,
    Compactor,
    CompactionPolicy,
    TurnSaver,
    TurnFailures,
    RunningTurns,
    TurnObservers,
    UsageRecords,
  ],
  exports: [ResponsesService, StoredResponsesService, RunningTurns, BackgroundWorker, UsageRecords],
})
export class ResponsesModule {}
