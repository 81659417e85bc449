import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';

import { BodiesModule } from '../bodies/index.js';
import { OpenAiExceptionFilter } from './openai-exception.filter.js';
import { OptionsController } from './options.controller.js';

/** The error filter and the OPTIONS route of all API routes. */
@Module({
  imports: [BodiesModule],
  controllers: [OptionsController],
  providers: [{ provide: APP_FILTER, useClass: OpenAiExceptionFilter }],
})
export class HttpModule {}
