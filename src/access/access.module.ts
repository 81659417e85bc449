import { Global, Module } from '@nestjs/common';

import { ApiKeyGuard } from './api-key.guard.js';

/** Who may call. */
@Global()
@Module({
  providers: [ApiKeyGuard],
  exports: [ApiKeyGuard],
})
export class AccessModule {}
