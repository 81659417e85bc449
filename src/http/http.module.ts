import { Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';

import { OpenAiExceptionFilter } from './openai-exception.filter.js';
import { OpenAiHeadersInterceptor } from './openai-headers.interceptor.js';
import { OptionsController } from './options.controller.js';

/** What all HTTP routes have in common. */
@Module({
  controllers: [OptionsController],
  providers: [
    { provide: APP_FILTER, useClass: OpenAiExceptionFilter },
    { provide: APP_INTERCEPTOR, useClass: OpenAiHeadersInterceptor },
  ],
})
export class HttpModule {}
