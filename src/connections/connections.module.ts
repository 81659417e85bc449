import { Module } from '@nestjs/common';

import { ConnectionRegistry } from './connection-registry.js';
import { ConnectionsController } from './connections.controller.js';

/** WebSocket connections: limits, listing and closing. */
@Module({
  controllers: [ConnectionsController],
  providers: [ConnectionRegistry],
  exports: [ConnectionRegistry],
})
export class ConnectionsModule {}
