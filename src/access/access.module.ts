import { Global, Module } from '@nestjs/common';

import { ApiKeyGuard } from './api-key.guard.js';
import { ApiKeys } from './api-keys.js';
import { Credentials } from './credentials.js';

/** Authentication of requests. */
@Global()
@Module({
  providers: [ApiKeyGuard, ApiKeys, Credentials],
  exports: [ApiKeyGuard, ApiKeys, Credentials],
})
export class AccessModule {}
