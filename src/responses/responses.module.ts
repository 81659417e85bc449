import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { BodiesModule } from '../http/bodies/index.js';
import { ConnectionsModule } from '../connections/index.js';
import { ContextModule } from '../context/index.js';
import { DocumentsModule } from '../files/documents/index.js';
import { FilesModule } from '../files/index.js';
import { HttpModule } from '../http/index.js';
import { McpModule } from '../tools/mcp/index.js';
import { SealsModule } from '../context/seals/index.js';
import { SessionsModule } from '../resources/sessions/index.js';
import { SocketTokensModule } from '../access/socket-tokens/index.js';
import { StateModule } from '../state/index.js';
import { WebhooksModule } from '../operations/webhooks/index.js';
import { WebSearchModule } from '../tools/web-search/index.js';
import { BackgroundEndings } from './background/background-endings.js';
import { BackgroundResponses } from './background/background-responses.js';
import { BackgroundWorker } from './background/background-worker.js';
import { EventStreams } from './background/event-streams.js';
import { CompactionPlanner } from './compaction/plan.js';
import { CompactionPolicy } from './compaction/compaction.policy.js';
import { Compactor } from './compaction/compactor.js';
import { Summarizer } from './compaction/summarizer.js';
import { RequestValidator } from './dto/index.js';
import { CompactController } from './http/compact.controller.js';
import { InputTokensController } from './http/input-tokens.controller.js';
import { PostOnlyController } from './http/post-only.controller.js';
import { PromptsController } from './http/prompts.controller.js';
import { HalfClosedClients, StalledClients } from './http/client-connection.js';
import { HttpTurns } from './http/http-turns.js';
import { ResponsesController } from './http/responses.controller.js';
import { SseTransport } from './http/sse-transport.js';
import { Prompts } from './prompts/prompts.js';
import { ResponsesService } from './responses.service.js';
import { QueueBudget } from './socket/queue-budget.js';
import { ResponsesGateway } from './socket/responses.gateway.js';
import { SocketHandshake } from './socket/socket-handshake.js';
import { ConnectionHandlers } from './socket/connection-handler.js';
import { TurnGuard } from './socket/turn.guard.js';
import { StoredResponsesService } from './stored-responses.service.js';
import { CitationsPolicy } from './tools/citations.policy.js';
import { McpApprovals } from './tools/mcp-approvals.js';
import { McpPolicy } from './tools/mcp.policy.js';
import { WebSearchPolicy } from './tools/web-search.policy.js';
import { Assemblers } from './turn/assemblers.js';
import { ContextWindow } from './turn/context-window.js';
import { CountedReasoning } from './turn/counted-reasoning.js';
import { Entrance } from './turn/entrance.js';
import { GivenFiles } from './turn/given-files.js';
import { InputTokens } from './turn/input-tokens.js';
import { Passes } from './turn/passes.js';
import { PassPolicies } from './turn/turn-policies.js';
import { Questions } from './turn/questions.js';
import { RunningTurns } from './turn/running-turns.js';
import { TokenMeter } from './turn/token-meter.js';
import { TokenScale } from './turn/token-scale.js';
import { TurnAdmitter } from './turn/admit.js';
import { TurnFailures } from './turn/failures.js';
import { TurnObservers } from './turn/turn-observer.js';
import { TurnResolver } from './turn/resolve.js';
import { TurnSaver } from './turn/save.js';
import { UsageRecords } from './turn/usage-records.js';

/** Turns from request to response, and their transports. */
@Module({
  imports: [
    DiscoveryModule,
    BodiesModule,
    ConnectionsModule,
    ContextModule,
    DocumentsModule,
    FilesModule,
    HttpModule,
    McpModule,
    SealsModule,
    SessionsModule,
    SocketTokensModule,
    StateModule,
    WebhooksModule,
    WebSearchModule,
  ],
  controllers: [CompactController, InputTokensController, PostOnlyController, PromptsController, ResponsesController],
  providers: [
    HttpTurns,
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
    Entrance,
    TurnResolver,
    ContextWindow,
    CountedReasoning,
    GivenFiles,
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
    McpApprovals,
    McpPolicy,
    WebSearchPolicy,
    CitationsPolicy,
    CompactionPolicy,
    TurnSaver,
    TurnFailures,
    RunningTurns,
    TurnObservers,
    UsageRecords,
  ],
  exports: [HttpTurns, ResponsesService, StoredResponsesService, RunningTurns, BackgroundWorker, UsageRecords],
})
export class ResponsesModule {}
