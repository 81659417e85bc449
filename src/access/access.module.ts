import { Global, Module } from '@nestjs/common';

import { ApiKeyGuard } from './api-key.guard.js';

/** Authentication of requests. */
@Global()
@Module({
  providers: [ApiKeyGuard],
  exports: [ApiKeyGuard],
})
export class AccessModule {}
