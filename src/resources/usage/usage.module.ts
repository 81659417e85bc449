import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { ResponsesModule } from '../../responses/index.js';
import { StateModule } from '../../state/index.js';
import { UsageController } from './usage.controller.js';
import { UsageRecorder } from './usage-recorder.js';
import { UsageService } from './usage.service.js';

/** What turns have used: recorded, kept for USAGE_RETENTION_DAYS, and reported. */
@Module({
  imports: [HttpModule, ResponsesModule, StateModule],
  controllers: [UsageController],
  providers: [UsageRecorder, UsageService],
  exports: [UsageRecorder],
})
export class UsageModule {}
