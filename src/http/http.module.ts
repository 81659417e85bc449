import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';

import { BodiesModule } from './bodies/index.js';
import { ApiRoutes } from './api-routes.js';
import { OpenAiExceptionFilter } from './openai-exception.filter.js';
import { OptionsController } from './options.controller.js';
import { UnknownFields } from './unknown-fields.js';

/** What all API routes share: where they are, the error filter, the OPTIONS route, and the rule for unknown fields. */
@Module({
  imports: [BodiesModule],
  controllers: [OptionsController],
  providers: [{ provide: APP_FILTER, useClass: OpenAiExceptionFilter }, ApiRoutes, UnknownFields],
  exports: [ApiRoutes, UnknownFields],
})
export class HttpModule {}
