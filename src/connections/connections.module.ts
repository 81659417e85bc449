import { Module } from '@nestjs/common';

import { ConnectionRegistry } from './connection-registry.js';
import { ConnectionsController } from './connections.controller.js';

/** Who is connected, for how long, and how it ends. */
@Module({
  controllers: [ConnectionsController],
  providers: [ConnectionRegistry],
  exports: [ConnectionRegistry],
})
export class ConnectionsModule {}
