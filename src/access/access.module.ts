import { Global, Module } from '@nestjs/common';

import { ApiKeyGuard } from './api-key.guard.js';
import { ApiKeys } from './api-keys.js';
import { Credentials } from './credentials.js';
import { JwtVerifier } from './jwt-verifier.js';

/** Authentication of requests. */
@Global()
@Module({
  providers: [ApiKeyGuard, ApiKeys, Credentials, JwtVerifier],
  exports: [ApiKeyGuard, ApiKeys, Credentials, JwtVerifier],
})
export class AccessModule {}
