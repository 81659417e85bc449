import { Global, Module } from '@nestjs/common';

import { ApiKeyGuard } from './api-key.guard.js';
import { Authenticator, EnvironmentAuthenticator } from './authenticator.js';

/** Who may call. */
@Global()
@Module({
  providers: [{ provide: Authenticator, useClass: EnvironmentAuthenticator }, ApiKeyGuard],
  exports: [Authenticator, ApiKeyGuard],
})
export class AccessModule {}
