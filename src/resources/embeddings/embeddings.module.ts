import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { UsageModule } from '../usage/index.js';
import { EmbeddingsController } from './embeddings.controller.js';
import { EmbeddingsService } from './embeddings.service.js';

/** `POST /embeddings`, and vectors for the service itself. */
@Module({
  imports: [HttpModule, UsageModule],
  controllers: [EmbeddingsController],
  providers: [EmbeddingsService],
  exports: [EmbeddingsService],
})
export class EmbeddingsModule {}
