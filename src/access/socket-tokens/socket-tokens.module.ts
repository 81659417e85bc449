import { Module } from '@nestjs/common';

import { HttpModule } from '../../http/index.js';
import { SealsModule } from '../../context/seals/index.js';
import { SocketTokensController } from './socket-tokens.controller.js';
import { SocketTokens } from './socket-tokens.js';

/** Tokens with which web pages open sockets. */
@Module({
  imports: [HttpModule, SealsModule],
  controllers: [SocketTokensController],
  providers: [SocketTokens],
  exports: [SocketTokens],
})
export class SocketTokensModule {}
