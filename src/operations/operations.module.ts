import { Module } from '@nestjs/common';

import { ConnectionsModule } from '../connections/index.js';
import { McpModule } from '../tools/mcp/index.js';
import { ResponsesModule } from '../responses/index.js';
import { StateModule } from '../state/index.js';
import { WebSearchModule } from '../tools/web-search/index.js';
import { ActivityController } from './activity.controller.js';
import { HealthController } from './health.controller.js';
import { OpenReplies } from './open-replies.js';
import { Readiness } from './readiness.js';
import { RecentTurns } from './recent-turns.js';
import { ShutdownCoordinator } from './shutdown-coordinator.js';
import { ShutdownLimit } from './shutdown-limit.js';
import { TurnLog } from './turn-log.js';
import { TurnsController } from './turns.controller.js';

/** Health routes, the turn log, how turns run, and graceful shutdown. */
@Module({
  imports: [ConnectionsModule, McpModule, ResponsesModule, StateModule, WebSearchModule],
  controllers: [ActivityController, HealthController, TurnsController],
  providers: [Readiness, RecentTurns, OpenReplies, ShutdownCoordinator, ShutdownLimit, TurnLog],
  exports: [OpenReplies, Readiness, ShutdownLimit],
})
export class OperationsModule {}
