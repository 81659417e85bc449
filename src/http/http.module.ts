import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';

import { OpenAiExceptionFilter } from './openai-exception.filter.js';
import { OptionsController } from './options.controller.js';
import { UnknownFields } from './unknown-fields.js';

/** What all API routes share: the error filter, the OPTIONS route, and the rule for unknown fields. */
@Module({
  controllers: [OptionsController],
  providers: [{ provide: APP_FILTER, useClass: OpenAiExceptionFilter }, UnknownFields],
  exports: [UnknownFields],
})
export class HttpModule {}
