import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { StateModule } from '../../state/index.js';
import { ApprovalsController } from './approvals.controller.js';
import { ApprovalsService } from './approvals.service.js';
import { GraphController } from './graph.controller.js';
import { GraphService } from './graph.service.js';

/** The lists and trees that stored responses form, and what waits in them for a person. */
@Module({
  imports: [HttpModule, StateModule],
  controllers: [ApprovalsController, GraphController],
  providers: [ApprovalsService, GraphService],
})
export class GraphModule {}
