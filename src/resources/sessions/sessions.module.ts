import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { LocksModule } from '../../state/locks/index.js';
import { StateModule } from '../../state/index.js';
import { SessionGate } from './session-gate.js';
import { SessionsController } from './sessions.controller.js';
import { SessionsService } from './sessions.service.js';

/** Sessions, to which responses belong, and their locks. */
@Module({
  imports: [HttpModule, LocksModule, StateModule],
  controllers: [SessionsController],
  providers: [SessionGate, SessionsService],
  exports: [SessionGate],
})
export class SessionsModule {}
